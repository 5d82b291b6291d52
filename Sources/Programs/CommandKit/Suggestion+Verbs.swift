package import ArgumentParser
package import Spelling

extension Suggestion {
    /// What is wrong with the verb of a command line that was refused: the first word which should name a verb and does not.
    ///
    /// - Returns: nil when the verb is not what is wrong, or nothing can be said about it.
    package static func unknownVerb(
        in arguments: [String], of root: any ParsableCommand.Type, _ oldNames: [CommandWords.OldName] = []
    ) -> String? {
        // What had another name is meant by that as well.
        let old = oldNames.map { (word: $0.new.joined(separator: " "), names: [$0.old.joined(separator: " ")]) }
        var command = root
        for word in arguments {
            guard !word.hasPrefix("-") else { return nil }
            let verbs = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            if let verb = command.configuration.subcommands.first(where: { $0.configuration.commandName == word }) {
                command = verb
                continue
            }
            guard !verbs.isEmpty, word != "help" else { return nil }
            let names = verbs.compactMap { $0.configuration.commandName }.map { (word: $0, names: [$0]) }
            let question = question(for: word, among: names + (command == root ? old : []))
            // Of a verb that can go without another one the word may be something else.
            guard command.configuration.defaultSubcommand == nil || question != nil else { return nil }
            return "unknown verb '\(word)'" + (question.map { ": \($0)" } ?? "")
        }
        return nil
    }
}
