import CINIH
import ControlLoop
import Glibc

/// A mistake in a configuration file: its place, the problem, and what is accepted.
package struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    package let file: String
    /// Counted from 1; nil for a problem of the whole file.
    package let line: Int?
    /// `[section] key`; nil for a problem of no key.
    package let key: String?
    package let problem: String
    /// The accepted form in words.
    package let accepted: String

    package init(file: String, line: Int?, key: String?, problem: String, accepted: String) {
        self.file = file
        self.line = line
        self.key = key
        self.problem = problem
        self.accepted = accepted
    }

    package var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return "\(place): \(key.map { $0 + ": " } ?? "")\(problem); \(accepted)"
    }
}

/// One `key = value` of a file, with its place.
package struct ConfigurationEntry: Equatable, Sendable {
    package let section: String
    package let key: String
    package let value: String
    package let line: Int
}

/// The contents of a file without its invalid lines.
package struct ConfigurationContents: Sendable {
    /// A section's head; also of a section without keys.
    package struct Head: Equatable, Sendable {
        package let section: String
        package let line: Int
    }

    package fileprivate(set) var entries: [ConfigurationEntry] = []
    package fileprivate(set) var heads: [Head] = []
    /// The mistakes of the invalid lines, in the order of the file.
    package fileprivate(set) var mistakes: [ConfigurationError] = []
}

/// Reads INI files through libinih, with the line of each entry.
///
/// Debian's libinih neither reports line numbers nor accepts lines of 200 bytes or more. So lines are counted and measured
/// before libinih gets them, and longer ones are refused instead of cut.
package enum ConfigurationReader {
    /// Longest line in bytes, without its end (INI_MAX_LINE less the end of line and the terminator).
    package static let maximumLineBytes = 198
    /// Longest accepted file in bytes.
    package static let mostBytes = 1 << 20
    /// The most lines reported that are neither a section nor an entry; each costs a pass over the file.
    private static let mostBadLines = 50
    /// Replaces the section of a line such as `[routing`: the keys below it belong to an unknown section.
    private static let unknownSection = "\u{1}"
    private static let lineFeed = UInt8(ascii: "\n")

    /// - Throws: `ConfigurationError` when the file cannot be read, and for the first line that is no entry, is too long or
    ///   repeats a key.
    package static func entries(ofFile path: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        try entries(contents(ofFile: path))
    }

    /// Returns the valid entries; leaves out lines that are no entries or too long, and repeated keys.
    ///
    /// - Returns: the entries, and the first mistake of each kind.
    /// - Throws: `ConfigurationError` when the file cannot be read.
    package static func understoodEntries(
        ofFile path: String
    ) throws(ConfigurationError) -> (entries: [ConfigurationEntry], leftOut: [ConfigurationError]) {
        let contents = try contents(ofFile: path)
        var leftOut: [ConfigurationError] = []
        for mistake in contents.mistakes where !leftOut.contains(where: { $0.problem == mistake.problem }) {
            leftOut.append(mistake)
        }
        return (contents.entries, leftOut)
    }

    /// - Parameters:
    ///   - text: the contents of a configuration file.
    ///   - name: name of the file in messages.
    package static func entries(ofText text: String, name: String) throws(ConfigurationError) -> [ConfigurationEntry] {
        try entries(contents(ofText: text, name: name))
    }

    /// The contents of a file, with all mistakes in its lines.
    ///
    /// - Throws: `ConfigurationError` when the file cannot be read.
    package static func contents(ofFile path: String) throws(ConfigurationError) -> ConfigurationContents {
        try read(bytes(path), file: path)
    }

    package static func contents(ofText text: String, name: String) throws(ConfigurationError) -> ConfigurationContents
    {
        try read(Array(text.utf8), file: name)
    }

    private static func entries(_ contents: ConfigurationContents) throws(ConfigurationError) -> [ConfigurationEntry] {
        if let mistake = contents.mistakes.first { throw mistake }
        return contents.entries
    }

    private static func bytes(_ path: String) throws(ConfigurationError) -> [UInt8] {
        do throws(FileRefusal) {
            return try ForeignFile.read(path, atMost: mostBytes)
        } catch {
            let advice =
                switch error.reason {
                case .failed:
                    "give a readable file with --config, or install the example as /etc/btcall/btcalld.conf"
                case .kind, .link, .owner, .tooLong, .worldAccessible: "accepted: \(error.accepted)"
                }
            throw ConfigurationError(file: path, line: nil, key: nil, problem: error.problem, accepted: advice)
        }
    }

    private static func read(_ bytes: [UInt8], file: String) throws(ConfigurationError) -> ConfigurationContents {
        guard !bytes.isEmpty else { return ConfigurationContents() }
        var lines = bytes.split(separator: lineFeed, omittingEmptySubsequences: false)
        var mistakes: [ConfigurationError] = []
        func refuse(_ index: Int, _ problem: String, _ accepted: String, _ replacement: ArraySlice<UInt8> = []) {
            mistakes.append(
                ConfigurationError(file: file, line: index + 1, key: nil, problem: problem, accepted: accepted))
            lines[index] = replacement
        }
        for index in lines.indices {
            // libinih would read the rest as the next line.
            if lines[index].contains(0) { refuse(index, "the line has a NUL character", "text without it") }
            if lines[index].count > maximumLineBytes {
                refuse(index, "the line is too long", "a line may have \(maximumLineBytes) bytes")
            }
        }
        while true {
            let reading = Reading(lines, file: file)
            let firstBadLine = try parse(Array(lines.joined(separator: [lineFeed])), reading)
            guard firstBadLine > 0, mistakes.count < mostBadLines else {
                var contents = reading.contents
                contents.entries.removeAll { $0.section == unknownSection }
                contents.heads.removeAll { $0.section == unknownSection }
                contents.mistakes = (contents.mistakes + mistakes).sorted { ($0.line ?? 0) < ($1.line ?? 0) }
                return contents
            }
            let isHead = Reading.trimmed(lines[firstBadLine - 1]).first == UInt8(ascii: "[")
            refuse(
                firstBadLine - 1,
                isHead ? "this is no section: the bracket is not closed" : "this is neither a section nor an entry",
                "write [section], key = value, or a comment that begins with # or ;",
                isHead ? Array("[\(unknownSection)]".utf8)[...] : [])
        }
    }

    /// - Returns: number of the first line that libinih refuses, from 1; 0: none.
    private static func parse(_ text: [UInt8], _ reading: Reading) throws(ConfigurationError) -> Int {
        var text = text
        guard !text.isEmpty else { return 0 }
        let line: Int32? = text.withUnsafeMutableBytes { buffer in
            guard let stream = fmemopen(buffer.baseAddress, buffer.count, "r") else { return nil }
            defer { fclose(stream) }
            reading.stream = stream
            defer { reading.stream = nil }
            let context = Unmanaged.passUnretained(reading).toOpaque()
            return ini_parse_stream(
                { buffer, size, stream in
                    guard let buffer, let stream else { return nil }
                    return Unmanaged<Reading>.fromOpaque(stream).takeUnretainedValue().nextLine(buffer, size)
                }, context,
                { context, section, key, value in
                    guard let context, let section, let key else { return 0 }
                    Unmanaged<Reading>.fromOpaque(context).takeUnretainedValue().add(
                        section: String(cString: section), key: String(cString: key),
                        value: value.map { String(cString: $0) } ?? "")
                    return 1
                }, context)
        }
        guard let line else {
            let error = SystemError(call: "fmemopen", code: errno)
            throw ConfigurationError(
                file: reading.file, line: nil, key: nil, problem: "\(error)", accepted: "try again")
        }
        return max(0, Int(line))
    }

    /// The context of libinih's callbacks.
    private final class Reading {
        let file: String
        var stream: UnsafeMutablePointer<FILE>?
        private(set) var contents = ConfigurationContents()
        private let lines: [ArraySlice<UInt8>]
        private var line = 0
        /// Whether the section has had a key: then libinih takes an indented line for the continuation of its value.
        private var hasKey = false
        /// Lines by section and key.
        private var places: [String: Int] = [:]

        init(_ lines: [ArraySlice<UInt8>], file: String) {
            self.lines = lines
            self.file = file
        }

        func nextLine(_ buffer: UnsafeMutablePointer<CChar>, _ size: Int32) -> UnsafeMutablePointer<CChar>? {
            guard let stream, fgets(buffer, size, stream) != nil else { return nil }
            line += 1
            noteHead()
            return buffer
        }

        /// libinih reports only sections with keys.
        private func noteHead() {
            guard lines.indices.contains(line - 1) else { return }
            let isMarked = line == 1 && lines[0].starts(with: [0xEF, 0xBB, 0xBF])
            let raw = isMarked ? lines[0].dropFirst(3) : lines[line - 1]
            let text = Self.trimmed(raw)
            guard text.first == UInt8(ascii: "["), text.count == raw.count || !hasKey,
                let end = text.firstIndex(of: UInt8(ascii: "]"))
            else { return }
            hasKey = false
            // libinih keeps only this much of a name.
            let name = String(decoding: text[..<end].dropFirst().prefix(ConfigurationReader.nameBytes), as: UTF8.self)
            contents.heads.append(ConfigurationContents.Head(section: name, line: line))
        }

        /// The line without leading blanks.
        static func trimmed(_ line: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
            line.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: "\r") }
        }

        func add(section: String, key: String, value: String) {
            hasKey = true
            let name = "[\(section)] \(key)"
            if let earlier = places[name] {
                let isIndented =
                    lines.indices.contains(line - 1) && lines[line - 1].first.map { $0 == 0x20 || $0 == 0x09 } == true
                refuse(
                    isIndented ? nil : name,
                    isIndented
                        ? "the line begins with a blank, as if it went on with line \(earlier)"
                        : "is given a second time",
                    isIndented ? "begin every line at its start" : "keep one of this and line \(earlier)")
                return
            }
            places[name] = line
            contents.entries.append(ConfigurationEntry(section: section, key: key, value: value, line: line))
        }

        private func refuse(_ key: String?, _ problem: String, _ accepted: String) {
            contents.mistakes.append(
                ConfigurationError(file: file, line: line, key: key, problem: problem, accepted: accepted))
        }
    }

    /// Longest section name in libinih (MAX_SECTION less the terminator).
    private static let nameBytes = 49
}
