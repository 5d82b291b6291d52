package import ArgumentParser

/// Output of a program without a verb: its verbs by task, some examples, and where to find more.
package struct FirstScreen {
    /// One line of verbs.
    package struct Group {
        let title: String
        let verbs: String

        package init(_ title: String, _ verbs: String) {
            self.title = title
            self.verbs = verbs
        }
    }

    private let root: any ParsableCommand.Type
    private let groups: [Group]
    private let examples: [String]
    private let notes: [String]

    package init(of root: any ParsableCommand.Type, groups: [Group], examples: [String], notes: [String]) {
        self.root = root
        self.groups = groups
        self.examples = examples
        self.notes = notes
    }

    /// Fits a terminal of 80 columns and 25 lines.
    package var lines: [String] {
        let program = root.configuration.commandName ?? ""
        let width = (groups.map(\.title.count).max() ?? 0) + 2
        let verbs = groups.map { group in
            let lines = Self.wrapped(group.verbs, to: Self.columns - width)
            return lines.enumerated().map { index, line in
                let title = index == 0 ? group.title : ""
                return title + String(repeating: " ", count: width - title.count) + line
            }
        }
        var lines = [
            "\(program): \(root.configuration.abstract)", "", "Usage: \(program) VERB [ARGUMENT...] [OPTION...]", "",
        ]
        lines += verbs.flatMap { $0 }
        lines.append("")
        lines += examples.map { "  \($0)" }
        lines.append("")
        return lines + notes
    }

    private static let columns = 80

    private static func wrapped(_ text: String, to columns: Int) -> [String] {
        var lines: [String] = [""]
        for word in text.split(separator: " ") {
            let last = lines[lines.count - 1]
            if last.isEmpty {
                lines[lines.count - 1] = String(word)
            } else if last.count + 1 + word.count <= columns {
                lines[lines.count - 1] = "\(last) \(word)"
            } else {
                lines.append(String(word))
            }
        }
        return lines
    }
}
