import Foundation
import Testing

/// The page of names that programs for other voice kits look for, and the library.
@Suite struct NamesTests {
    @Test func `every name that the page has is public in the library`() throws {
        let declared = try Self.library().reduce(into: Set<String>()) { $0.formUnion(Self.publicNames(in: $1)) }
        let names = Self.names(on: try RepositoryTests.contents("docs/inside/Names.md"))
        #expect(names.count > 100 && names.contains("setAudioDevice") && names.contains("callAdded"))
        for name in names { #expect(declared.contains(name), "\(name)") }
    }

    @Test func `names that are not public are not found, and every form of public ones is`() {
        let text = """
            public final class Calls {
                func hidden() {}
                public static func made<Value>(_ value: Value) -> Value { value }
                @discardableResult public func kept() -> Int { 0 }
                public internal(set) var size = 0
                public enum Kind {
                    case first, second(with: Int, and: Int)
                }
                enum Own {
                    case third
                }
            }
            public protocol Owner {
                func asked(_ call: Int)
            }
            struct Other {
                func asking() {}
            }
            """
        #expect(
            Self.publicNames(in: text) == [
                "Calls", "made", "kept", "size", "Kind", "first", "second", "Owner", "asked",
            ])
    }

    @Test func `the library's first page and its page link to the names`() throws {
        for page in ["Sources/Client/BTCall/BTCall.docc/BTCall.md", "docs/applications/Library.md"] {
            #expect(try RepositoryTests.contents(page).contains("inside/Names.md)"), "\(page)")
        }
    }

    static func library() throws -> [String] {
        let folder = "Sources/Client/BTCall"
        return try FileManager.default.contentsOfDirectory(atPath: RepositoryTests.root.appending(path: folder).path)
            .filter { $0.hasSuffix(".swift") }
            .map { try RepositoryTests.contents("\(folder)/\($0)") }
    }

    /// The names in the first column of each table, or in the column `Here` if the table has one.
    private static func names(on page: String) -> [String] {
        var names: [String] = []
        var column: Int?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            guard line.hasPrefix("|") else {
                column = nil
                continue
            }
            let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst()
                .map { $0.trimmingCharacters(in: .whitespaces) }
            guard let known = column else {
                column = cells.firstIndex(of: "Here") ?? 0
                continue
            }
            guard cells.indices.contains(known) else { continue }
            // The text inside a pair of backquotes, not between two pairs.
            let parts = cells[known].split(separator: "`", omittingEmptySubsequences: false)
            names += parts.indices.filter { $0 % 2 == 1 }.map { String(parts[$0]) }
        }
        return names
    }

    /// Names of public declarations, of the cases of public enumerations, and of the requirements of public protocols.
    static func publicNames(in text: String) -> Set<String> {
        var names: Set<String> = []
        var hasPublicCases = false
        var isInProtocol = false
        for line in text.split(separator: "\n") {
            if line == "}" { isInProtocol = false }
            var words = line.split(separator: " ").map(String.init).filter { !$0.hasPrefix("@") }
            let isPublic = words.first == "public"
            if isPublic { words.removeFirst() }
            let modifiers = ["static", "final", "nonisolated", "mutating", "internal(set)", "private(set)", "isolated"]
            while let word = words.first, modifiers.contains(word) { words.removeFirst() }
            guard words.count > 1 else { continue }
            let kind = words.removeFirst()
            switch kind {
            case "case" where hasPublicCases && !words[0].hasPrefix("."):
                names.formUnion(caseNames(words.joined(separator: " ")))
            case "func", "var", "let", "struct", "class", "enum", "protocol", "typealias":
                if kind == "enum" { hasPublicCases = isPublic }
                if kind == "protocol" { isInProtocol = isPublic }
                if isPublic || isInProtocol && line.hasPrefix("    ") && !line.hasPrefix("     ") {
                    names.insert(identifier(words[0]))
                }
            default: break
            }
        }
        return names
    }

    private static func identifier(_ word: String) -> String {
        String(word.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
    }

    /// `first, second(with: Int, and: Int)`: first and second.
    private static func caseNames(_ list: String) -> [String] {
        var depth = 0
        let parts = list.split { character in
            if character == "(" { depth += 1 }
            if character == ")" { depth -= 1 }
            return character == "," && depth == 0
        }
        return parts.map { identifier($0.trimmingCharacters(in: .whitespaces)) }
    }
}
