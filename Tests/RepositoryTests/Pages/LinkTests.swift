import Foundation
import TestSupport
import Testing

/// Pages are short, their links lead somewhere, and every page can be found.
@Suite struct LinkTests {
    private static let mostLines = 400
    private static let mostLinesOfReadme = 120

    /// A Markdown page without its fenced blocks.
    struct Text {
        /// Targets of links as they are written, each with its line; without those that lead out of the repository.
        let links: [(line: Int, target: String)]
        /// Names that a link may end with after `#`.
        let anchors: Set<String>

        init(_ text: String) {
            var links: [(line: Int, target: String)] = []
            var anchors: Set<String> = []
            var counts: [String: Int] = [:]
            var isInBlock = false
            for (index, line) in text.components(separatedBy: "\n").enumerated() {
                if line.drop(while: { $0 == " " }).hasPrefix("```") {
                    isInBlock.toggle()
                    continue
                }
                guard !isInBlock else { continue }
                if line.hasPrefix("#") {
                    let anchor = Self.anchor(ofHeading: line)
                    let count = counts[anchor, default: 0]
                    counts[anchor] = count + 1
                    anchors.insert(count == 0 ? anchor : "\(anchor)-\(count)")
                }
                guard line.contains("](") else { continue }
                // What is between backquotes is no link.
                let parts = line.components(separatedBy: "`")
                let plain = stride(from: 0, to: parts.count, by: 2).map { parts[$0] }.joined(separator: "`")
                for rest in plain.components(separatedBy: "](").dropFirst() {
                    let target = String(rest.prefix { $0 != ")" && $0 != " " })
                    if !target.contains(":") { links.append((index + 1, target)) }
                }
            }
            self.links = links
            self.anchors = anchors
        }

        /// As forges make it: lower case, hyphens for blanks; only letters, digits, hyphens and underscores stay.
        static func anchor(ofHeading line: String) -> String {
            var title = String(line.drop { $0 == "#" }.drop { $0 == " " })
            // Of a link its text counts.
            if let start = title.range(of: "]("), let end = title[start.upperBound...].firstIndex(of: ")") {
                title.removeSubrange(start.lowerBound...end)
            }
            return String(
                title.lowercased().compactMap { character -> Character? in
                    if character == " " { return "-" }
                    let isKept = character.isLetter || character.isNumber || character == "-" || character == "_"
                    return isKept ? character : nil
                })
        }
    }

    /// The path that a relative link of a page leads to; nil: out of the repository.
    static func resolve(_ target: String, on page: String) -> String? {
        var parts = Array(page.split(separator: "/").dropLast())
        for part in target.split(separator: "/") where part != "." {
            if part == ".." {
                guard parts.popLast() != nil else { return nil }
            } else {
                parts.append(part)
            }
        }
        return parts.joined(separator: "/")
    }

    private func pages() throws -> [String: Text] {
        let paths = try Page.paths(withSuffix: ".md")
        #expect(paths.count > 40)
        let texts = try paths.map { path in (path, Text(try RepositoryTests.contents(path))) }
        return Dictionary(texts, uniquingKeysWith: { first, _ in first })
    }

    @Test func `links and anchors are found outside of code`() {
        let text = Text(
            """
            # One, two: `three`
            A [page](../A.md#b-c) and `[none](x.md)`, [there](https://example.org).
            ```text
            # no heading
            [none](y.md)
            ```
            ## One, two: three
            ## 8. Links that [end](z.md)
            """)
        #expect(text.links.map(\.target) == ["../A.md#b-c", "z.md"])
        #expect(text.links.map(\.line) == [2, 8])
        #expect(text.anchors == ["one-two-three", "one-two-three-1", "8-links-that-end"])
        #expect(Self.resolve("../A.md", on: "docs/inside/B.md") == "docs/A.md")
        #expect(Self.resolve("A.md", on: "B.md") == "A.md")
        #expect(Self.resolve("../A.md", on: "B.md") == nil)
    }

    @Test func `a page is short enough to be read at once`() throws {
        for path in try Page.paths(withSuffix: ".md") {
            let count = try RepositoryTests.contents(path).count { $0 == "\n" }
            let most = path == "README.md" ? Self.mostLinesOfReadme : Self.mostLines
            #expect(count <= most, "\(path) has \(count) lines, more than \(most)")
        }
    }

    @Test func `every link between pages leads to a file, and to a heading where it names one`() throws {
        let pages = try pages()
        var count = 0
        for (path, page) in pages.sorted(by: { $0.key < $1.key }) {
            for (line, link) in page.links {
                count += 1
                let parts = link.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
                let file = parts[0].isEmpty ? path : Self.resolve(String(parts[0]), on: path)
                guard let file, FileManager.default.fileExists(atPath: RepositoryTests.root.appending(path: file).path)
                else {
                    Issue.record("\(path):\(line): \(link) leads nowhere")
                    continue
                }
                if parts.count == 2, pages[file]?.anchors.contains(String(parts[1])) != true {
                    Issue.record("\(path):\(line): \(file) has no heading #\(parts[1])")
                }
            }
        }
        #expect(count > 200, "\(count)")
    }

    @Test func `links of DocC are only on the pages of the library`() throws {
        for path in try Page.paths(withSuffix: ".md") where !path.contains(".docc/") {
            #expect(try !RepositoryTests.contents(path).contains("<doc:"), "\(path)")
        }
    }

    @Test func `every page of docs is reached from docs/README.md`() throws {
        let pages = try pages()
        var reached: Set = ["docs/README.md"]
        var rest = Array(reached)
        while let path = rest.popLast() {
            for (_, link) in pages[path]?.links ?? [] {
                let target = String(link.prefix { $0 != "#" })
                guard !target.isEmpty, let file = Self.resolve(target, on: path), pages[file] != nil,
                    reached.insert(file).inserted
                else { continue }
                rest.append(file)
            }
        }
        for path in pages.keys.sorted() where path.hasPrefix("docs/") {
            #expect(reached.contains(path), "\(path) cannot be found")
        }
    }
}
