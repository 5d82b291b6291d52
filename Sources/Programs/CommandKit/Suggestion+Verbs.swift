package import ArgumentParser
package import Spelling

extension Suggestion {
    /// Failure text for the first word that should name a verb and does not, in a refused command line.
    ///
    /// - Returns: nil when the verb is correct, or nothing can be said about it.
    package static func unknownVerb(
        in arguments: [String], of root: any ParsableCommand.Type, _ oldNames: [CommandWords.OldName] = []
    ) -> String? {
        // An earlier name also matches its verb.
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
            // After a verb that works without a subverb, the word may be something else.
            guard command.configuration.defaultSubcommand == nil || question != nil else { return nil }
            return "unknown verb '\(word)'" + (question.map { ": \($0)" } ?? "")
        }
        return nil
    }
}
