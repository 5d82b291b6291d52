import Foundation
import TestSupport
import Testing

/// The numbers of requirements in the tests, and the page that explains them.
@Suite struct RequirementTests {
    private static let page = "docs/Requirements.md"

    private struct Row {
        let id: String
        /// What the row says of the tests that show it.
        let shown: String
    }

    private func rows() throws -> [Row] {
        let rows = try RepositoryTests.contents(Self.page).split(separator: "\n").compactMap { line -> Row? in
            guard line.hasPrefix("| S") else { return nil }
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            return Row(id: cells.first ?? "", shown: cells.last ?? "")
        }
        #expect(rows.count > 120)
        return rows
    }

    /// Numbers such as S1.23 in a text.
    static func ids(in text: String) -> Set<String> {
        Set(
            text.split { !($0.isASCII && ($0.isLetter || $0.isNumber) || $0 == ".") }.compactMap { word in
                let parts = word.split(separator: ".", omittingEmptySubsequences: false)
                guard parts.count >= 2, parts[0].count == 2, parts[0].first == "S", parts[0].last?.isNumber == true,
                    !parts[1].isEmpty, parts[1].allSatisfy(\.isNumber)
                else { return nil }
                return "\(parts[0]).\(parts[1])"
            })
    }

    /// Suites that a row names: words that end with Tests, and their parts.
    static func suites(in text: String) -> [String] {
        text.split { $0 == " " || $0 == "," || $0 == ";" || $0 == "|" }.filter {
            $0.hasSuffix("Tests") || $0.contains("Tests+")
        }.map(String.init)
    }

    @Test func `numbers and suites are found in a text`() {
        #expect(
            Self.ids(in: "`S1.23 a, S3.8: b` [\"S0.4\"] S10.2 AS1.1 S2 S4.x S2.9.")
                == ["S1.23", "S3.8", "S0.4", "S2.9"])
        #expect(
            Self.suites(in: "FeatureTests+Capture, scenarios; 52, BoardTests")
                == ["FeatureTests+Capture", "BoardTests"])
    }

    @Test func `every number in the tests is explained, once`() throws {
        let rows = try rows()
        let known = Set(rows.map(\.id))
        #expect(known.count == rows.count)
        var found: Set<String> = []
        for path in try [".swift", ".json", ".sh"].flatMap({ try Page.paths(withSuffix: $0, under: ["Tests"]) })
        where !path.hasSuffix("/RequirementTests.swift") {
            let text = try RepositoryTests.contents(path)
            // Most files have none.
            guard (0...5).contains(where: { text.contains("S\($0).") }) else { continue }
            for id in Self.ids(in: text) {
                found.insert(id)
                #expect(known.contains(id), "\(path): \(id) is not on \(Self.page)")
            }
        }
        #expect(found.count > 80)
    }

    @Test func `a row names tests that exist, or says that there are none`() throws {
        let files = Set(
            try Page.paths(withSuffix: ".swift", under: ["Tests"]).compactMap {
                $0.split(separator: "/").last.map { String($0.dropLast(6)) }
            })
        for row in try rows() {
            let suites = Self.suites(in: row.shown)
            for suite in suites { #expect(files.contains(suite), "\(row.id): \(suite)") }
            let isOpen = ["not built", "not shown", "only", "S1.", "S2."].contains { row.shown.contains($0) }
            #expect(!suites.isEmpty || row.shown.contains("scenarios") || isOpen, "\(row.id): \(row.shown)")
        }
    }
}
