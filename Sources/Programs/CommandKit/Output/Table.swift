import ControlLoop

/// Rows of cleaned text under headings; every column is as wide as its widest cell.
package struct Table {
    private let headings: [String]
    private var rows: [[String]] = []
    /// Emphases by row, then by column.
    private var emphases: [Int: [Int: Emphasis]] = [:]

    package init(_ headings: String...) {
        self.headings = headings
    }

    package mutating func add(_ cells: String...) {
        rows.append(cells.map { PrintableText.line($0) })
    }

    /// Emphasises a cell of the last row on a terminal.
    package mutating func emphasize(_ emphasis: Emphasis, inColumn heading: String) {
        guard let column = headings.firstIndex(of: heading) else { return }
        emphases[rows.count - 1, default: [:]][column] = emphasis
    }

    /// The lines, headings first, without trailing spaces.
    package var lines: [String] { lines(in: .plain).map(\.text) }

    package func lines(in style: TerminalStyle) -> [StyledText] {
        let all = [headings] + rows
        let widths = headings.indices.map { column in
            all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return all.enumerated().map { row, cells in
            var line: StyledText = ""
            var gap = 0
            for (column, (cell, width)) in zip(cells, widths).enumerated() {
                if !cell.isEmpty {
                    let emphasis: Emphasis? = row == 0 ? .strong : emphases[row - 1]?[column]
                    let spaces = String(repeating: " ", count: gap)
                    line = "\(line)\(spaces)\(emphasis?.text(cell, in: style) ?? StyledText(cell))"
                    gap = 0
                }
                gap += width - cell.count + 2
            }
            return line
        }
    }
}

/// A list of labels and values, which are cleaned.
package struct Facts {
    private var facts: [(label: String, value: String, emphasis: Emphasis?)] = []

    package init() {}

    package mutating func add(_ label: String, _ value: String, _ emphasis: Emphasis? = nil) {
        facts.append((PrintableText.line(label), value, emphasis))
    }

    package var lines: [String] { lines(in: .plain).map(\.text) }

    package func lines(in style: TerminalStyle) -> [StyledText] {
        let width = facts.map(\.label.count).max() ?? 0
        return facts.map { label, value, emphasis in
            let gap = String(repeating: " ", count: width - label.count + 2)
            return "\(style.bold(label))\(gap)\(emphasis?.text(value, in: style) ?? StyledText(value))"
        }
    }
}

/// Emphasis of a part of a text.
package enum Emphasis: Hashable, Sendable {
    case strong
    /// Correct, wrong, and worth checking.
    case good, bad, warning
    /// Rarely needed.
    case aside

    package func text(_ text: String, in style: TerminalStyle) -> StyledText {
        switch self {
        case .strong: style.bold(text)
        case .good: style.green(text)
        case .bad: style.red(text)
        case .warning: style.yellow(text)
        case .aside: style.dim(text)
        }
    }
}
