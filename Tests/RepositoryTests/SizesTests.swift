import Foundation
import Testing

/// Sizes of the programs in the README and on the pages, compared with those that scripts/package measured.
@Suite struct SizesTests {
    private static let pages = [
        "README.md", "docs/inside/Architecture.md",
        "docs/Install.md",
    ]

    /// Bytes by program, on amd64: the pages state the sizes for that architecture.
    private func measured() throws -> [String: Double] {
        var sizes: [String: Double] = [:]
        for line in try RepositoryTests.contents("docs/sizes.tsv").split(separator: "\n") where !line.hasPrefix("#") {
            let columns = line.split(separator: "\t", omittingEmptySubsequences: false)
            try #require(columns.count == 3, "\(line)")
            if columns[0] == "amd64" {
                sizes[String(columns[1])] = Double(String(columns[2]))
            }
        }
        try #require(sizes.count == 7)
        return sizes
    }

    @Test func `Every size of a program that a page says is what was packaged`() throws {
        let sizes = try measured()
        var found: [String] = []
        for page in Self.pages {
            let text = try RepositoryTests.contents(page).replacing("\n", with: " ")
            for match in text.matches(
                of: /`(?<program>btcall[a-z-]*)`(?<between>[^`.;:|]{0,60}?)( \| )?(?<size>\d+(\.\d+)?) MB\b/)
            {
                let program = String(match.program)
                let size = try #require(sizes[program], "\(page): \(match.0)")
                let number = Double(String(match.size))
                let said = try #require(number) * 1_000_000
                #expect(abs(said - size) <= size / 20, "\(page): \"\(match.0)\", and it has \(Int(size)) bytes")
                found.append("\(page) \(program)")
            }
        }
        #expect(
            Set(found).isSuperset(of: ["README.md btcalld", "README.md btcall", "README.md btcall-lab"]), "\(found)")
        #expect(
            found.contains { $0.hasSuffix("Architecture.md btcalld") }
                && found.contains { $0.hasSuffix("Architecture.md btcall") })
    }

    @Test func `scripts/package refuses a program whose size is not the one that is said`() throws {
        let script = try RepositoryTests.contents("scripts/package")
        #expect(script.contains("\n\tlook_at_sizes \"$tree\"\n"))
        #expect(script.contains("sizes=$root/docs/sizes.tsv"))
    }
}
