import Foundation
import TestSupport
import Testing

/// Comments and pages cite only files that are in the repository.
@Suite struct CitationTests {
    private static let suffixes = [".md", ".swift", ".sh", ".py"]

    /// Papers that the work began with; none of them is in the repository.
    private static let papers: Set = [
        "DESIGN", "INTERFACES", "ROUTING", "FEATURES", "INTEROP", "LAYOUT", "BENCH", "SWIFT",
    ]

    /// What is cited in a line: paths, or names of files, that end with one of the suffixes. Patterns and paths of an
    /// installed system are left out.
    static func citations(in line: String) -> [String] {
        // Most lines have none.
        guard suffixes.contains(where: { line.contains($0) }) else { return [] }
        return line.split { " \t\"'`()[]{}<>,;:|=#".contains($0) }.compactMap { word in
            let path = word.hasSuffix(".") ? word.dropLast() : word
            guard suffixes.contains(where: { path.hasSuffix($0) && path.count > $0.count }), !path.hasPrefix("/"),
                !path.contains(where: { "*…\\$~%".contains($0) })
            else { return nil }
            return path.split(separator: "/").filter { $0 != "." && $0 != ".." }.joined(separator: "/")
        }
    }

    /// The paper that a line cites by its name and "section"; nil: none.
    static func paper(in line: String) -> String? {
        guard line.contains(" section") else { return nil }
        let words = line.split { !$0.isLetter }
        return zip(words, words.dropFirst())
            .first { pair in papers.contains(String(pair.0)) && pair.1 == "section" }
            .map { pair in String(pair.0) }
    }

    /// The paths of the repository by their last part.
    private func files() throws -> [Substring: [String]] {
        let paths = try Self.suffixes.flatMap { try Page.paths(withSuffix: $0) }
        return Dictionary(grouping: paths) { $0.split(separator: "/").last ?? "" }
    }

    @Test func `paths and names of files are found in a line, with what stands around them`() {
        #expect(
            Self.citations(in: "(docs/inside/Routing.md §8), [Gateway](../Gateway.md#calls), `ATReader.swift: read`.")
                == ["docs/inside/Routing.md", "Gateway.md", "ATReader.swift"])
        #expect(Self.citations(in: "see INTEROP.md A8, run ./scripts/lib.sh.") == ["INTEROP.md", "scripts/lib.sh"])
        #expect(Self.citations(in: "`docs/operate/Messages*.md`, /etc/hook.sh, a .md, $FILE.py") == [])
        #expect(Self.paper(in: "as ROUTING section 8 says") == "ROUTING")
        #expect(Self.paper(in: "the section of ROUTING") == nil)
    }

    @Test func `every file that a comment or a page cites is in the repository`() throws {
        let files = try files()
        var count = 0
        for prose in try Prose.all(withTexts: false) where !prose.path.hasSuffix("/CitationTests.swift") {
            for line in prose.lines {
                for path in Self.citations(in: line.text) {
                    count += 1
                    let known = files[path.split(separator: "/").last ?? ""] ?? []
                    let isThere = known.contains { $0 == path || $0.hasSuffix("/\(path)") }
                    #expect(isThere, "\(prose.path):\(line.number) cites \(path)")
                }
                if let paper = Self.paper(in: line.text) {
                    Issue.record("\(prose.path):\(line.number) cites \(paper), which is not in the repository")
                }
            }
        }
        #expect(count > 500, "\(count)")
    }
}
