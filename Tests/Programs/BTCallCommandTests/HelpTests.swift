import ArgumentParser
import CommandKit
import CommandTestSupport
import Testing

@testable import BTCallCommand

@Suite struct HelpTests {
    /// Every verb in the help, with its words on the command line.
    static var verbs: [CommandExamples.Verb] { CommandExamples.verbs(of: Entry.self) }

    @Test func `Every verb's help has an example that it accepts`() throws {
        #expect(Self.verbs.count > 50)
        for (words, type) in Self.verbs {
            let examples = HelpText(type.configuration.discussion).examples
            #expect(!examples.isEmpty, "\(words) has no example")
            let parsed = try examples.map { example in
                let typed = CommandExamples.split(example)
                let own = try #require(typed.first == "btcall" ? typed.dropFirst() : nil, "\(example)")
                return try Entry.command(for: Array(own))
            }
            // A verb with subverbs shows those.
            guard type.configuration.subcommands.isEmpty else { continue }
            for command in parsed {
                let isVerb = Swift.type(of: command) == type
                #expect(isVerb, "\(words): \(command)")
            }
        }
    }

    @Test func `The first screen has accepted examples, and every verb in a group`() throws {
        let examples = HelpText(Entry.configuration.discussion).examples
        #expect(examples.count >= 6)
        for example in examples { _ = try Entry.command(for: Array(CommandExamples.split(example).dropFirst())) }
        #expect(Entry.configuration.ungroupedSubcommands.isEmpty)
        let help = Entry.helpMessage(columns: 100)
        for line in examples { #expect(help.contains(line)) }
        #expect(
            Program.help(for: ["help", "--all"], Entry.self, Entry.firstScreen.lines)?.contains("SUBCOMMANDS:") == true)
        for group in Entry.configuration.groupedSubcommands {
            #expect(help.contains("\(group.name.uppercased()) SUBCOMMANDS:"), "\(group.name)")
        }
    }

    @Test func `Examples are extracted from a text`() {
        let text = HelpText("What it does.\n\nMore.\n\nExamples:\n  btcall why\n  btcall status")
        #expect(text.prose == "What it does.\n\nMore.")
        #expect(text.examples == ["btcall why", "btcall status"])
        #expect(HelpText("Example: btcall why").examples == ["btcall why"])
        #expect(HelpText("Nothing.").examples.isEmpty)
    }
}
