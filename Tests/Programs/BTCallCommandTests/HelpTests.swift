import ArgumentParser
import CommandKit
import Testing

@testable import BTCallCommand

@Suite struct HelpTests {
    typealias Verb = (words: [String], type: any ParsableCommand.Type)

    /// Every verb that help shows, with what is typed for it.
    static var verbs: [Verb] {
        func below(_ type: any ParsableCommand.Type, _ words: [String]) -> [Verb] {
            var verbs: [Verb] = []
            for verb in type.configuration.subcommands where verb.configuration.shouldDisplay {
                let path = words + [verb.configuration.commandName ?? ""]
                verbs.append((words: path, type: verb))
                verbs += below(verb, path)
            }
            return verbs
        }
        return below(Entry.self, [])
    }

    @Test func `Every verb's help has an example that it accepts`() throws {
        #expect(Self.verbs.count > 50)
        for (words, type) in Self.verbs {
            let examples = HelpText(type.configuration.discussion).examples
            #expect(!examples.isEmpty, "\(words) has no example")
            let parsed = try examples.map { example in
                let typed = Self.split(example)
                let own = try #require(typed.first == "btcall" ? typed.dropFirst() : nil, "\(example)")
                return try Entry.parseAsRoot(Array(own))
            }
            // A verb of verbs shows those.
            guard type.configuration.subcommands.isEmpty else { continue }
            for command in parsed {
                let isVerb = Swift.type(of: command) == type
                #expect(isVerb, "\(words): \(command)")
            }
        }
    }

    @Test func `What is first read has examples that are accepted, and every verb in a group`() throws {
        let examples = HelpText(Entry.configuration.discussion).examples
        #expect(examples.count >= 6)
        for example in examples { _ = try Entry.parseAsRoot(Array(Self.split(example).dropFirst())) }
        #expect(Entry.configuration.ungroupedSubcommands.isEmpty)
        let help = Entry.helpMessage(columns: 100)
        for line in examples { #expect(help.contains(line)) }
        for group in Entry.configuration.groupedSubcommands {
            #expect(help.contains("\(group.name.uppercased()) SUBCOMMANDS:"), "\(group.name)")
        }
    }

    @Test func `Examples are taken out of a text`() {
        let text = HelpText("What it does.\n\nMore.\n\nExamples:\n  btcall why\n  btcall status")
        #expect(text.prose == "What it does.\n\nMore.")
        #expect(text.examples == ["btcall why", "btcall status"])
        #expect(HelpText("Example: btcall why").examples == ["btcall why"])
        #expect(HelpText("Nothing.").examples.isEmpty)
    }

    /// The words of a line as a shell takes them: up to a redirection, an & or a comment.
    static func split(_ line: String) -> [String] {
        var line = line
        // The output of the program is another's.
        if line.hasPrefix("source <("), line.hasSuffix(")") { line = String(line.dropFirst(9).dropLast()) }
        var words: [String] = []
        var word: String?
        var quote: Character?
        for character in line {
            if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "'" || character == "\"" {
                quote = character
                word = word ?? ""
            } else if character == " " {
                if let whole = word { words.append(whole) }
                word = nil
            } else if word == nil, character == "#" || character == "&" || character == ">" {
                return words
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
