/// The text of a configuration file. Setting values keeps everything else: comments, keys and their order.
struct ConfigurationEdit {
    private var lines: [String]

    init(_ text: String) {
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        // The newline of the last line begins no further line.
        if lines.last?.isEmpty == true { lines.removeLast() }
    }

    var text: String { lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n" }

    /// Sets a key of a section: in its present line, otherwise after the section's last key; a missing section is added at
    /// the end of the file.
    mutating func set(_ section: String, _ key: String, _ value: String) {
        let line = "\(key) = \(value)"
        guard let header = lines.firstIndex(where: { Self.section($0) == section }) else {
            if !lines.isEmpty { lines.append("") }
            lines += ["[\(section)]", line]
            return
        }
        let rest = lines[(header + 1)...]
        let end = rest.firstIndex { Self.section($0) != nil } ?? lines.endIndex
        if let index = lines[(header + 1)..<end].firstIndex(where: { Self.key($0) == key }) {
            lines[index] = line
            return
        }
        let last = lines[header..<end].lastIndex { Self.key($0) != nil } ?? header
        lines.insert(line, at: last + 1)
    }

    /// The name in `[NAME]`; nil for another line.
    private static func section(_ line: String) -> String? {
        let text = line.drop { $0 == " " || $0 == "\t" }
        guard text.first == "[", let end = text.firstIndex(of: "]") else { return nil }
        return String(text[text.index(after: text.startIndex)..<end])
    }

    /// The text before `=`; nil for a comment, a section or any other line.
    private static func key(_ line: String) -> String? {
        let text = line.drop { $0 == " " || $0 == "\t" }
        guard let first = text.first, first != "#", first != ";", first != "[",
            let equals = text.firstIndex(where: { $0 == "=" || $0 == ":" })
        else { return nil }
        return String(text[..<equals].reversed().drop { $0 == " " || $0 == "\t" }.reversed())
    }
}
