package import HandsFree

/// Files of rows, quirks.conf and stack.conf: a section for each row. libinih reads the lines; what it may read differently
/// from a person is refused.
package enum RowFile {
    /// Longest file in bytes.
    package static let mostBytes = 65_536
    package static let mostRows = QuirksDatabase.mostRows

    /// The heads of sections and the entries, in the order of the file.
    ///
    /// - Parameters:
    ///   - bytes: the whole file; any bytes give entries or a mistake.
    ///   - file: its name in messages.
    ///   - heads: the accepted heads, for messages: `[database] or [quirk NAME]`.
    /// - Throws: `ConfigurationError` for an invalid line.
    package static func entries(
        _ bytes: [UInt8], file: String, heads: String
    ) throws(ConfigurationError) -> [QuirksEntry] {
        // libinih skips a byte order mark as well.
        let bytes = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(bytes.dropFirst(3)) : bytes
        var entries = try self.heads(lines(bytes, file), file, accepted: heads)
        for entry in try ConfigurationReader.entries(ofText: String(decoding: bytes, as: UTF8.self), name: file) {
            entries.append(QuirksEntry(section: entry.section, key: entry.key, value: entry.value, line: entry.line))
        }
        entries.sort { $0.line < $1.line }
        return entries
    }

    /// The lines without their ends.
    private static func lines(_ bytes: [UInt8], _ file: String) throws(ConfigurationError) -> [ArraySlice<UInt8>] {
        func refused(_ line: Int?, _ problem: String, _ accepted: String) -> ConfigurationError {
            ConfigurationError(file: file, line: line, key: nil, problem: problem, accepted: accepted)
        }
        guard bytes.count <= mostBytes else {
            throw refused(nil, "the file is too long", "it may have \(mostBytes) bytes")
        }
        let lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let end = line.last == UInt8(ascii: "\r") ? line.dropLast() : line
            guard end.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == UInt8(ascii: "\t") }) else {
                throw refused(index + 1, "there is a control character", "write text, as UTF-8")
            }
            guard String(validating: line, as: UTF8.self) != nil else {
                throw refused(index + 1, "this is no UTF-8", "write text, as UTF-8")
            }
            let isIndented = end.first == 0x20 || end.first == UInt8(ascii: "\t")
            guard !isIndented || end.allSatisfy({ $0 == 0x20 || $0 == UInt8(ascii: "\t") }) else {
                throw refused(index + 1, "the line begins with a blank", "begin every line at its start")
            }
        }
        return lines
    }

    /// The heads of sections: libinih neither reports sections without keys nor checks what follows the bracket.
    private static func heads(
        _ lines: [ArraySlice<UInt8>], _ file: String, accepted: String
    ) throws(ConfigurationError) -> [QuirksEntry] {
        var heads: [QuirksEntry] = []
        for (index, line) in lines.enumerated() where line.first == UInt8(ascii: "[") {
            let text = line.dropFirst()
            let name = text.prefix { $0 != UInt8(ascii: "]") }
            let rest = text.dropFirst(name.count + 1).drop { $0 == 0x20 || $0 == UInt8(ascii: "\t") }
            let isEnd = rest.isEmpty || rest.first == UInt8(ascii: ";") || rest.first == UInt8(ascii: "\r")
            guard name.count < text.count, name.count <= 48, isEnd else {
                throw ConfigurationError(
                    file: file, line: index + 1, key: nil, problem: "this is no head of a section",
                    accepted: "write \(accepted) and nothing after it")
            }
            let section = String(decoding: name, as: UTF8.self)
            if let earlier = heads.first(where: { $0.section == section }) {
                throw ConfigurationError(
                    file: file, line: index + 1, key: "[\(section)]", problem: "is given a second time",
                    accepted: "keep one of this and line \(earlier.line)")
            }
            guard heads.count <= mostRows else {
                throw ConfigurationError(
                    file: file, line: index + 1, key: nil, problem: "there are too many rows",
                    accepted: "a file may have \(mostRows)")
            }
            heads.append(QuirksEntry(section: section, key: nil, value: "", line: index + 1))
        }
        return heads
    }
}
