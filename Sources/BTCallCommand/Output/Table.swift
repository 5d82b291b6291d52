/// Rows of text under headings, every column as wide as its widest cell.
struct Table {
    private let headings: [String]
    private var rows: [[String]] = []

    init(_ headings: String...) {
        self.headings = headings
    }

    mutating func add(_ cells: String...) {
        rows.append(cells)
    }

    /// The lines, the headings first, without spaces at the end.
    var lines: [String] {
        let all = [headings] + rows
        let widths = headings.indices.map { column in
            all.map { $0.indices.contains(column) ? $0[column].count : 0 }.max() ?? 0
        }
        return all.map { row in
            var line = ""
            for (cell, width) in zip(row, widths) {
                line += cell + String(repeating: " ", count: width - cell.count + 2)
            }
            while line.last == " " { line.removeLast() }
            return line
        }
    }
}

/// Labels and values under one another.
struct Facts {
    private var pairs: [(String, String)] = []

    mutating func add(_ label: String, _ value: String) {
        pairs.append((label, value))
    }

    var lines: [String] {
        let width = pairs.map(\.0.count).max() ?? 0
        return pairs.map { label, value in label + String(repeating: " ", count: width - label.count + 2) + value }
    }
}
