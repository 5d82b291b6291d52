import Foundation
import TestSupport

/// The words that each test of the repository uses, to find the tests of a name.
///
/// A test uses the words of its own name and text, and those of the functions and values of its file that it names.
struct TestIndex {
    struct Test: Hashable {
        let suite: String
        let name: String
    }

    private(set) var tests: [Test] = []
    private var users: [String: Set<Int>] = [:]
    /// Functions that the tests' files declare.
    private(set) var declared: Set<String> = []

    /// Files that contain all names, whatever they do.
    private static let lists: Set = [
        "InterfaceTests", "RoundTripTests", "DictionaryTests", "DictionaryArgumentTests", "ConfigurationExampleTests",
    ]

    /// The tests of the repository, except those about its pages.
    init() throws {
        for path in try Page.paths(withSuffix: ".swift", under: ["Tests"])
        where !path.hasPrefix("Tests/RepositoryTests/") {
            let file = String(path.split(separator: "/").last?.dropLast(".swift".count) ?? "")
            let text = try RepositoryTests.contents(path)
            if !Self.lists.contains(file) { add(text, file: file) }
        }
    }

    /// - Parameter text: a file of tests.
    init(text: String, file: String) { add(text, file: file) }

    /// The tests that use at least one of the words.
    func using(_ words: String...) -> Set<Int> { using(words) }

    func using(_ words: some Sequence<String>) -> Set<Int> {
        words.reduce(into: []) { $0.formUnion(users[$1] ?? []) }
    }

    // MARK: Reading

    private struct Piece {
        var name = ""
        var isTest = false
        var indentation = 0
        var lines: [Substring] = []
    }

    private mutating func add(_ text: String, file: String) {
        let pieces = Self.pieces(of: text)
        var helpers: [String: Set<String>] = [:]
        for piece in pieces where !piece.isTest && !piece.name.isEmpty {
            helpers[piece.name, default: []].formUnion(Self.words(in: piece.lines.joined(separator: "\n")))
            declared.insert(piece.name)
        }
        for piece in pieces where piece.isTest {
            var words = Self.words(in: piece.lines.joined(separator: "\n"))
            // A helper may use others.
            var rest = helpers.filter { words.contains($0.key) }
            while let (name, used) = rest.popFirst() {
                let new = used.subtracting(words)
                words.formUnion(new)
                for (other, more) in helpers where other != name && new.contains(other) { rest[other] = more }
            }
            for word in words { users[word, default: []].insert(tests.count) }
            tests.append(Test(suite: file, name: piece.name))
        }
    }

    /// Splits a file at its tests, functions and stored values.
    private static func pieces(of text: String) -> [Piece] {
        var pieces: [Piece] = []
        var piece = Piece()
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let indentation = line.prefix { $0 == " " }.count
            if indentation < piece.indentation, indentation < line.count {
                // The end of the type that has it.
                pieces.append(piece)
                piece = Piece()
            }
            let isInside = piece.isTest || !piece.name.isEmpty
            let isNested = isInside && indentation > piece.indentation
            if line.dropFirst(indentation).hasPrefix("@Test"), !isNested {
                pieces.append(piece)
                piece = Piece(isTest: true, indentation: indentation)
            }
            if opensType(line), !isNested {
                pieces.append(piece)
                piece = Piece()
            } else if let name = declaration(in: line), !isNested {
                if piece.isTest, piece.name.isEmpty {
                    piece.name = name
                } else {
                    pieces.append(piece)
                    piece = Piece(name: name, indentation: indentation)
                }
            }
            piece.lines.append(line)
        }
        return pieces + [piece]
    }

    private static func opensType(_ line: Substring) -> Bool {
        let modifiers: Set<Substring> = ["private", "fileprivate", "package", "public", "final"]
        let word = line.split(separator: " ").first { !modifiers.contains($0) && !$0.hasPrefix("@") }
        return ["extension", "struct", "class", "enum", "actor", "protocol"].contains(word)
    }

    /// The name of the function or value that a line declares.
    private static func declaration(in line: Substring) -> String? {
        for keyword in ["func ", "let ", "var "] {
            guard let range = line.range(of: keyword),
                range.lowerBound == line.startIndex || line[line.index(before: range.lowerBound)] == " "
            else { continue }
            let before = line[..<range.lowerBound].split(separator: " ")
            let modifiers: Set<Substring> = [
                "private", "fileprivate", "package", "public", "static", "nonisolated", "mutating", "@Test",
                "@ControlPlane", "@discardableResult", "isolated",
            ]
            // Arguments of @Test may be anything.
            guard before.allSatisfy({ modifiers.contains($0) }) || before.first?.hasPrefix("@Test(") == true else {
                return nil
            }
            let rest = line[range.upperBound...]
            if rest.hasPrefix("`") { return String(rest.dropFirst().prefix { $0 != "`" }) }
            return String(rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" })
        }
        return nil
    }

    /// The words of a text, each in every form in which it may be looked up: `a.b`, `.b`, `b:`, `"a.b"`, `b =`, `[a`.
    static func words(in text: String) -> Set<String> {
        var words: Set<String> = []
        let bytes = Array(text.utf8)
        func isWord(_ index: Int) -> Bool {
            guard bytes.indices.contains(index) else { return false }
            switch bytes[index] {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F: return true
            default: return false
            }
        }
        func byte(_ index: Int) -> UInt8 { bytes.indices.contains(index) ? bytes[index] : 0 }
        var start = 0
        while start < bytes.count {
            guard isWord(start) else {
                start += 1
                continue
            }
            var end = start
            // `\n` in a string ends a line; its letter belongs to no word.
            if byte(start - 1) == UInt8(ascii: "\\"), byte(start) == UInt8(ascii: "n"), isWord(start + 1) {
                start += 1
                end = start
            }
            // A dot belongs to the word if another word follows.
            while isWord(end) || byte(end) == UInt8(ascii: ".") && isWord(end + 1) { end += 1 }
            let run = String(decoding: bytes[start..<end], as: UTF8.self)
            let parts = run.split(separator: ".")
            for index in parts.indices {
                words.insert(parts[index...].joined(separator: "."))
                words.insert(String(parts[index]))
                if index > 0 || byte(start - 1) == UInt8(ascii: ".") { words.insert(".\(parts[index])") }
            }
            if byte(end) == UInt8(ascii: ":"), let last = parts.last { words.insert("\(last):") }
            if byte(start - 1) == UInt8(ascii: "\""), byte(end) == UInt8(ascii: "\"") { words.insert("\"\(run)\"") }
            if byte(end) == 0x20, byte(end + 1) == UInt8(ascii: "="), byte(end + 2) == 0x20 { words.insert("\(run) =") }
            if byte(start - 1) == UInt8(ascii: "[") { words.insert("[\(run)") }
            start = end
        }
        return words
    }
}
