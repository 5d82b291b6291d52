package import ArgumentParser

/// The verbs of a program, and the examples in their help.
package enum CommandExamples {
    package typealias Verb = (words: [String], type: any ParsableCommand.Type)

    /// Every verb in the help, with its words on the command line.
    ///
    /// - Parameter root: the program's first command.
    package static func verbs(of root: any ParsableCommand.Type) -> [Verb] {
        func below(_ type: any ParsableCommand.Type, _ words: [String]) -> [Verb] {
            var verbs: [Verb] = []
            for verb in type.configuration.subcommands where verb.configuration.shouldDisplay {
                let path = words + [verb.configuration.commandName ?? ""]
                verbs.append((words: path, type: verb))
                verbs += below(verb, path)
            }
            return verbs
        }
        return below(root, [])
    }

    /// The words of a line as a shell splits it: up to a redirection, an & or a comment.
    package static func split(_ line: String) -> [String] {
        var line = line
        // `source <(…)` runs the program inside.
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
            } else if word == nil, "#&<>".contains(character) {
                return words
            } else if word == "2", character == ">" {
                return words
            } else {
                word = (word ?? "") + String(character)
            }
        }
        return words + (word.map { [$0] } ?? [])
    }
}
