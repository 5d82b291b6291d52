import Foundation
import TestSupport

/// The text of a file that people read: a page, the comments of a source file, and the texts that a program prints.
struct Prose {
    struct Line {
        /// From 1.
        let number: Int
        let text: String
    }

    let path: String
    let lines: [Line]

    // MARK: Files

    /// Folders of sources.
    static let sourceFolders = ["Sources", "Tests", "scripts", "Examples", "etc", "dbus", "udev"]

    /// Comments of all sources, and all pages, in the order of their paths.
    ///
    /// - Parameter withTexts: also the string literals of `Sources`.
    static func all(withTexts: Bool) throws -> [Prose] {
        var found = try Page.paths(withSuffix: ".md").map { path in
            Prose(path: path, lines: Self.page(try RepositoryTests.contents(path)))
        }
        for path in try [".swift", ".c", ".h", ".cc", ".cpp"].flatMap({
            try Page.paths(withSuffix: $0, under: Self.sourceFolders)
        }) {
            let text = try RepositoryTests.contents(path)
            var lines = Self.comments(in: text, marker: "//")
            if withTexts, path.hasPrefix("Sources/") { lines += Self.literals(in: text) }
            found.append(Prose(path: path, lines: lines))
        }
        for path in try Self.scripts() {
            found.append(Prose(path: path, lines: Self.comments(in: try RepositoryTests.contents(path), marker: "#")))
        }
        return found.sorted { $0.path < $1.path }
    }

    /// Scripts and other files whose comments begin with `#`.
    private static func scripts() throws -> [String] {
        let named = try [".sh", ".py", ".conf", ".service", ".rules", ".dialogue"].flatMap {
            try Page.paths(withSuffix: $0, under: sourceFolders)
        }
        // Programs in the folder of scripts have no suffix.
        let programs = try Page.paths(withSuffix: "", under: ["scripts"]).filter { path in
            !(path.split(separator: "/").last ?? "").contains(".")
        }
        return named + programs
    }

    // MARK: Parts of a file

    /// All lines of a page.
    static func page(_ text: String) -> [Line] {
        text.components(separatedBy: "\n").enumerated().map { Line(number: $0.offset + 1, text: $0.element) }
    }

    /// Comments that run from a marker to the end of the line.
    static func comments(in text: String, marker: String) -> [Line] {
        text.components(separatedBy: "\n").enumerated().compactMap { index, line in
            let code = line.drop { $0 == " " || $0 == "\t" }
            if code.hasPrefix(marker) {
                // The first line of a script names its interpreter.
                if code.hasPrefix("#!") { return nil }
                return Line(number: index + 1, text: String(code.drop { marker.contains($0) }))
            }
            let parts = code.components(separatedBy: " \(marker) ")
            guard parts.count > 1 else { return nil }
            return Line(number: index + 1, text: parts.dropFirst().joined(separator: " "))
        }
    }

    /// String literals of Swift with more than one word. Code between two literals of one line may be among them.
    static func literals(in text: String) -> [Line] {
        var lines: [Line] = []
        var isInBlock = false
        for (index, line) in text.components(separatedBy: "\n").enumerated() {
            let code = line.drop { $0 == " " }
            if code.hasPrefix("//") { continue }
            if line.contains("\"\"\"") {
                isInBlock.toggle()
            } else if isInBlock {
                lines.append(Line(number: index + 1, text: line))
            } else if code.contains("\"") {
                let parts = code.replacing("\\\"", with: " ").split(
                    separator: "\"", omittingEmptySubsequences: false)
                for part in stride(from: 1, to: parts.count, by: 2) where parts[part].contains(" ") {
                    lines.append(Line(number: index + 1, text: String(parts[part])))
                }
            }
        }
        return lines
    }

    // MARK: Words

    /// The words in lower case, with an empty one wherever a sentence or a part of it ends. Code between backquotes counts
    /// as one word.
    static func words(in line: String) -> [String] {
        let parts = line.components(separatedBy: "`")
        let isCode = parts.count > 1 && !parts.count.isMultiple(of: 2)
        let text = isCode ? stride(from: 0, to: parts.count, by: 2).map { parts[$0] }.joined(separator: " code ") : line
        var words: [String] = []
        var word: [UInt8] = []
        func endWord() {
            if !word.isEmpty { words.append(String(decoding: word, as: UTF8.self)) }
            word = []
        }
        for byte in text.lowercased().utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"),
                0x80...:
                word.append(byte)
            case UInt8(ascii: "."), UInt8(ascii: ";"), UInt8(ascii: ":"), UInt8(ascii: "|"), UInt8(ascii: "("),
                UInt8(ascii: ")"):
                endWord()
                words.append("")
            default: endWord()
            }
        }
        endWord()
        return words
    }

    /// How often each of the phrases occurs; one may run over the end of a line, but not over that of a sentence.
    ///
    /// - Parameter phrases: words in lower case with a blank between them.
    func count(_ phrases: [String]) -> [String: Int] {
        var wanted: [String: [[String]]] = [:]
        for phrase in phrases {
            let words = phrase.split(separator: " ").map(String.init)
            wanted[words[0], default: []].append(words)
        }
        var words: [String] = []
        var last = 0
        for line in lines {
            if line.number > last + 1 { words.append("") }
            last = line.number
            words += Self.words(in: line.text)
        }
        var found: [String: Int] = [:]
        var index = 0
        while index < words.count {
            let matches = (wanted[words[index]] ?? []).filter { words[index...].starts(with: $0) }
            // Of two that begin here the longer one is meant.
            guard let match = matches.max(by: { $0.count < $1.count }) else {
                index += 1
                continue
            }
            found[match.joined(separator: " "), default: 0] += 1
            index += match.count
        }
        return found
    }
}
