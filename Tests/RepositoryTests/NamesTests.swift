import Foundation
import Testing

/// The page of names that programs for other voice kits look for, and the library.
@Suite struct NamesTests {
    @Test func `every name that the page has is public in the library`() throws {
        let folder = "Sources/Client/BTCall"
        let files = try FileManager.default.contentsOfDirectory(
            atPath: RepositoryTests.root.appending(path: folder).path)
        let library = try files.filter { $0.hasSuffix(".swift") }
            .map { try RepositoryTests.contents("\(folder)/\($0)") }.joined()
        let page = try RepositoryTests.contents("docs/inside/Names.md")
        var names: [String] = []
        for line in page.split(separator: "\n") where line.hasPrefix("| `") {
            let cell = line.split(separator: "|").first ?? ""
            // The text inside a pair of backquotes, not between two pairs.
            let parts = cell.split(separator: "`", omittingEmptySubsequences: false)
            names += parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
        }
        #expect(names.count > 30 && names.contains("setAudioDevice"))
        for name in names {
            let isDeclared = ["func \(name)(", "var \(name):", "let \(name):", "typealias \(name) "].contains {
                library.contains("public \($0)")
            }
            #expect(isDeclared, "\(name)")
        }
    }
}
