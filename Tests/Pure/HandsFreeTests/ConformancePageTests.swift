import Foundation
import HandsFree
import Testing

/// The page about conformance agrees with the tests.
@Suite struct ConformancePageTests {
    private struct Row {
        let name: String
        let kind: String
        let text: String
    }

    /// The rows of the table of cases.
    private static func rows() throws -> [Row] {
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let page = root.appending(path: "docs/inside/Conformance.md")
        let text = String(decoding: try Data(contentsOf: page), as: UTF8.self)
        let section = text.components(separatedBy: "## ").first { $0.hasPrefix("Cases") } ?? ""
        return section.split(separator: "\n").compactMap { line in
            guard line.hasPrefix("| ") else { return nil }
            let cells = line.dropFirst(2).dropLast(2).components(separatedBy: " | ")
            guard cells.count == 3, cells[0] != "case" else { return nil }
            return Row(name: cells[0], kind: cells[1], text: cells[2])
        }
    }

    @Test func `each case is listed once, as a dialogue, a test, the lab, or not claimed`() throws {
        let rows = try Self.rows()
        #expect(rows.count > 130)
        #expect(Set(rows.map(\.name)).count == rows.count)
        #expect(Set(rows.map(\.kind)).isSubset(of: ["dialogue", "test", "lab", "no"]))
        #expect(rows.allSatisfy { !$0.text.isEmpty })
    }

    @Test func `each dialogue that is named exists and covers the case`() throws {
        for row in try Self.rows() where row.kind == "dialogue" {
            let parts = row.text.components(separatedBy: "`: ")
            let file = String(parts[0].dropFirst()) + ".dialogue"
            let name = parts.dropFirst().joined(separator: "`: ")
            let dialogue = DialogueTests.all.first { $0.file == file && $0.name == name }
            #expect(dialogue?.cases.contains(row.name) == true, "\(row.name): \(row.text)")
        }
    }
}
