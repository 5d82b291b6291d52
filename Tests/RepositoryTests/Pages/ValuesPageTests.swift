import Foundation
import TestSupport
import Testing

/// The pages of values from outside name files, functions and tests that exist.
@Suite struct ValuesPageTests {
    private static let pages = ["Inputs", "InputsOfPrograms", "InputsOfFiles"].map { "docs/inside/\($0).md" }

    /// A check: the file that has it, as it is written, and its functions.
    struct Check: Equatable {
        let file: String
        let functions: [String]
    }

    /// Checks between backquotes: the name of a file, a colon, and functions with commas between them.
    static func checks(in row: String) -> [Check] {
        let parts = row.components(separatedBy: "`")
        return stride(from: 1, to: parts.count, by: 2).compactMap { index in
            let words = parts[index].components(separatedBy: ": ")
            guard words.count == 2, words[0].hasSuffix(".swift") || words[0].hasSuffix(".c"), !words[0].contains("*")
            else { return nil }
            return Check(
                file: words[0],
                functions: words[1].components(separatedBy: ", ").map { function in
                    let name = function.prefix { $0 != "(" }
                    return String(name.split(separator: ".").last ?? "")
                })
        }
    }

    /// Tests in the last cell: `Suite: name`, with a semicolon between two; a name may have one, too.
    static func tests(in row: String) -> [(suite: String, name: String)] {
        let cell = row.split(separator: "|").last { !$0.allSatisfy { $0 == " " } } ?? ""
        var tests: [(suite: String, name: String)] = []
        for part in cell.components(separatedBy: ";") {
            let text = part.trimmingCharacters(in: .whitespaces)
            let words = text.components(separatedBy: ": ")
            if words.count > 1, words[0].allSatisfy({ $0.isLetter || $0.isNumber }) {
                tests.append((words[0], words.dropFirst().joined(separator: ": ")))
            } else if text.hasSuffix("Tests") || text.hasPrefix("fuzz ") || tests.isEmpty {
                // A whole suite, or a target of the fuzzer.
                continue
            } else {
                tests[tests.count - 1].name += "; \(text)"
            }
        }
        return tests
    }

    @Test func `checks and tests are found in a row`() {
        let row =
            "| A | `AT/A.swift: init(x:), B.take`, `b.c: run`, `K*.swift: x` | C | CTests; ATests: a: b; c; BTests: d; fuzz e |"
        #expect(
            Self.checks(in: row) == [
                Check(file: "AT/A.swift", functions: ["init", "take"]), Check(file: "b.c", functions: ["run"]),
            ])
        #expect(Self.tests(in: row).map(\.suite) == ["ATests", "BTests"])
        #expect(Self.tests(in: row).map(\.name) == ["a: b; c", "d"])
        #expect(Self.tests(in: "| a | – |").isEmpty)
    }

    @Test func `every check and every test on the pages exists`() throws {
        let sources = try [".swift", ".c"].flatMap { try Page.paths(withSuffix: $0, under: ["Sources"]) }
        let names = Set(
            try Page.paths(withSuffix: ".swift", under: ["Tests"]).flatMap { path in
                try RepositoryTests.contents(path).split(separator: "\n").compactMap { line in
                    line.contains("func `") ? line.split(separator: "`").dropFirst().first.map(String.init) : nil
                }
            })
        var texts: [String: String] = [:]
        var count = 0
        for page in Self.pages {
            for row in try RepositoryTests.contents(page).components(separatedBy: "\n") where row.hasPrefix("|") {
                for check in Self.checks(in: row) {
                    let paths = sources.filter { $0.hasSuffix("/\(check.file)") }
                    #expect(!paths.isEmpty, "\(page): \(check.file)")
                    for path in paths where texts[path] == nil { texts[path] = try RepositoryTests.contents(path) }
                    for function in check.functions {
                        count += 1
                        let isThere = paths.contains { texts[$0]?.contains(function) == true }
                        #expect(isThere, "\(page): \(check.file) has no \(function)")
                    }
                }
                for test in Self.tests(in: row) {
                    count += 1
                    #expect(names.contains(test.name), "\(page): \(test.suite): \(test.name)")
                }
            }
        }
        #expect(count > 400, "\(count)")
    }
}
