/// Reads the sections of a file of rows: `[database]` with the format of the file, then one section for each row.
package struct RowSections: Sendable {
    private static let head = "database"

    /// File format that is accepted.
    private let format: Int
    private let mostRows: Int
    /// Word before the name of a row: `quirk` in `[quirk slow-car-kits]`.
    private let word: String
    /// Name of a row for messages.
    private let example: String
    /// Name that no row may have; nil: every name may be used.
    private let reserved: String?

    package init(format: Int, mostRows: Int, word: String, example: String, reserved: String? = nil) {
        self.format = format
        self.mostRows = mostRows
        self.word = word
        self.example = example
        self.reserved = reserved
    }

    /// Reads to the end of the file despite errors.
    ///
    /// - Parameters:
    ///   - entries: headers and keys in the order of the file.
    ///   - row: called for each row with its name, the line of its header, and its keys.
    /// - Returns: the version of the file, for display, and the first error of each section.
    package func read(
        _ entries: [QuirksEntry],
        row: (_ name: String, _ line: Int, _ keys: [QuirksEntry]) throws(QuirksError) -> Void
    ) -> (version: String?, mistakes: [QuirksError]) {
        var (sections, mistakes) = self.sections(of: entries)
        if sections.first?.name != Self.head {
            mistakes.append(
                QuirksError(
                    line: sections.first?.line, key: nil, problem: "the file does not begin with [database]",
                    accepted: "begin it with the lines [database] and format = \(format)"))
        }
        if sections.count > mostRows + 1 {
            mistakes.append(
                QuirksError(
                    line: sections[mostRows + 1].line, key: nil, problem: "there are too many rows",
                    accepted: "a file may have \(mostRows)"))
            sections.removeLast(sections.count - mostRows - 1)
        }
        var version: String?
        for (index, section) in sections.enumerated() {
            do throws(QuirksError) {
                if index == 0, section.name == Self.head {
                    version = try readHead(section)
                } else {
                    try row(rowName(section), section.line, section.keys)
                }
            } catch {
                mistakes.append(error)
            }
        }
        return (version, mistakes)
    }

    private struct Section {
        let name: String
        let line: Int
        var keys: [QuirksEntry] = []
    }

    private func sections(of entries: [QuirksEntry]) -> (sections: [Section], mistakes: [QuirksError]) {
        var sections: [Section] = []
        var mistakes: [QuirksError] = []
        for entry in entries {
            if entry.key == nil {
                if let earlier = sections.first(where: { $0.name == entry.section }) {
                    mistakes.append(
                        entry.refused("is given a second time", "keep one of this and line \(earlier.line)"))
                }
                sections.append(Section(name: entry.section, line: entry.line))
            } else if sections.last?.name == entry.section {
                sections[sections.count - 1].keys.append(entry)
            } else {
                mistakes.append(
                    QuirksError(
                        line: entry.line, key: entry.key, problem: "stands in no section",
                        accepted: "begin with [database]"))
            }
        }
        return (sections, mistakes)
    }

    /// - Returns: the version, for display.
    private func readHead(_ section: Section) throws(QuirksError) -> String? {
        var hasFormat = false
        var version: String?
        for entry in section.keys {
            switch entry.key {
            case "format":
                guard let number = Int(entry.value), number == format else {
                    throw entry.refused("'\(entry.value)' is not accepted", "this btcalld reads format \(format)")
                }
                hasFormat = true
            case "version":
                guard (1...40).contains(entry.value.utf8.count) else {
                    throw entry.refused(
                        "'\(entry.value)' is not accepted", "it is 1 to 40 bytes, for people: 2026-11-29")
                }
                version = entry.value
            default: throw entry.refused("there is no such key", "keys of [database] are format, version")
            }
        }
        guard hasFormat else {
            throw QuirksError(
                line: section.line, key: "[database]", problem: "has no format", accepted: "add format = \(format)")
        }
        return version
    }

    private func rowName(_ section: Section) throws(QuirksError) -> String {
        func refused(_ problem: String, _ accepted: String) -> QuirksError {
            QuirksError(line: section.line, key: "[\(section.name)]", problem: problem, accepted: accepted)
        }
        let prefix = word + " "
        guard section.name.hasPrefix(prefix) else {
            throw refused("there is no such section", "sections are [database] and [\(word) NAME]")
        }
        let name = String(section.name.dropFirst(prefix.count))
        let isPlain = name.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-")
        }
        guard (1...40).contains(name.utf8.count), isPlain, name != reserved else {
            throw refused(
                "'\(name)' is no name of a row",
                "it is 1 to 40 small letters, digits and hyphens: [\(word) \(example)]")
        }
        return name
    }
}
