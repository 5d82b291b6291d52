package import ArgumentParser

/// Normalises a command line: options after the verb, and the verb by its present name.
package enum CommandWords {
    /// An earlier name of a verb, which still works.
    package struct OldName: Hashable, Sendable {
        package let old: [String]
        package let new: [String]

        /// - Parameters:
        ///   - old: its words separated by spaces, as typed after the program's name; the longest matching name is used.
        ///   - new: the present words of the verb.
        package init(_ old: String, _ new: String) {
            self.old = old.split(separator: " ").map(String.init)
            self.new = new.split(separator: " ").map(String.init)
        }
    }

    /// Options of every verb with a value, and those without.
    private static let valued: Set = ["--bus", "--color"]
    private static let flags: Set = ["--json"]

    /// The command line for the parser.
    ///
    /// - Parameters:
    ///   - arguments: as typed, without the program's name. Words after `--` belong to another program.
    ///   - root: the program's first command.
    package static func arranged(
        _ arguments: [String], of root: any ParsableCommand.Type, _ oldNames: [OldName]
    ) -> [String] {
        let end = arguments.firstIndex(of: "--") ?? arguments.endIndex
        var rest = Array(arguments[..<end])
        let options = extractOptions(from: &rest, before: 0)
        guard let first = rest.first, !first.hasPrefix("-") else { return options + rest + arguments[end...] }
        let isHelp = first == "help"
        if isHelp { rest.removeFirst() }
        rest = renamed(rest, oldNames)
        // Options between two words of a verb.
        var inner: [String] = []
        var command = root
        var index = 0
        while true {
            inner += extractOptions(from: &rest, before: index, isInner: !command.configuration.subcommands.isEmpty)
            guard rest.indices.contains(index),
                let verb = command.configuration.subcommands.first(where: {
                    $0.configuration.commandName == rest[index]
                })
            else { break }
            command = verb
            index += 1
        }
        return (isHelp ? ["help"] : []) + rest + options + inner + arguments[end...]
    }

    /// The words without the options common to all verbs.
    package static func withoutOptions(_ arguments: [String]) -> [String] {
        var rest = arguments
        var index = 0
        while rest.indices.contains(index) {
            if extractOptions(from: &rest, before: index).isEmpty { index += 1 }
        }
        return rest
    }

    /// Whether a command line requests JSON, as far as this can be determined for a refused one.
    package static func wantsJSON(_ arguments: [String]) -> Bool {
        arguments.prefix { $0 != "--" }.contains("--json")
    }

    /// Removes the common options at an index, and returns them.
    private static func extractOptions(
        from words: inout [String], before index: Int, isInner: Bool = true
    ) -> [String] {
        var options: [String] = []
        while isInner, words.indices.contains(index) {
            let word = words[index]
            if flags.contains(word) || valued.contains(where: { word.hasPrefix($0 + "=") }) {
                options.append(words.remove(at: index))
            } else if valued.contains(word), words.indices.contains(index + 1) {
                options += [words.remove(at: index), words.remove(at: index)]
            } else {
                break
            }
        }
        return options
    }

    private static func renamed(_ words: [String], _ oldNames: [OldName]) -> [String] {
        let fitting = oldNames.filter { words.starts(with: $0.old) }
        guard let name = fitting.max(by: { $0.old.count < $1.old.count }) else { return words }
        return name.new + words.dropFirst(name.old.count)
    }
}
