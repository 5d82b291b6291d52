package import HandsFree
import Spelling

extension TalkRows {
    /// File format that this reader supports.
    package static let format = 1
    /// Most rows of a file.
    package static let mostRows = 200
    private static let head = "database"
    private static let rowPrefix = "key "

    /// Reads the rows of a file, to its end despite errors.
    ///
    /// - Parameters:
    ///   - entries: headers and keys in the order of the file.
    ///   - path: of the file.
    /// - Returns: the valid rows, and the first error of each section.
    package static func reading(
        entries: [QuirksEntry], path: String, origin: TalkRow.Origin
    ) -> (rows: TalkRows, mistakes: [QuirksError]) {
        var (sections, mistakes) = sections(of: entries)
        if sections.first?.name != head {
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
        var rows: [TalkRow] = []
        var switchedOff: [String] = []
        for (index, section) in sections.enumerated() {
            do throws(QuirksError) {
                guard index > 0 || section.name != head else {
                    version = try readHead(section.keys, line: section.line)
                    continue
                }
                let name = try rowName(section.name, line: section.line)
                if section.isOnlySwitchedOff, origin != .shipped {
                    switchedOff.append(name)
                } else {
                    rows.append(try TalkRow(name: name, line: section.line, entries: section.keys, origin: origin))
                }
            } catch {
                mistakes.append(error)
            }
        }
        let file = File(path: path, origin: origin, version: version, rowCount: rows.count + switchedOff.count)
        return (TalkRows(file: file, rows: rows, switchedOff: switchedOff), mistakes)
    }

    private struct Section {
        let name: String
        let line: Int
        var keys: [QuirksEntry] = []

        /// Its only line is `enabled = no`.
        var isOnlySwitchedOff: Bool {
            keys.count == 1 && keys[0].key == "enabled" && keys[0].value.lowercased() == "no"
        }
    }

    private static func sections(of entries: [QuirksEntry]) -> (sections: [Section], mistakes: [QuirksError]) {
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
                mistakes.append(entry.refused("stands in no section", "begin with [database]"))
            }
        }
        return (sections, mistakes)
    }

    /// - Returns: the version, for display.
    private static func readHead(_ entries: [QuirksEntry], line: Int) throws(QuirksError) -> String? {
        var format: Int?
        var version: String?
        for entry in entries {
            switch entry.key {
            case "format":
                guard let number = Int(entry.value), number == Self.format else {
                    throw entry.refused("'\(entry.value)' is not accepted", "this btcalld reads format \(Self.format)")
                }
                format = number
            case "version":
                guard (1...40).contains(entry.value.utf8.count) else {
                    throw entry.refused(
                        "'\(entry.value)' is not accepted", "it is 1 to 40 bytes, for people: 2026-11-29")
                }
                version = entry.value
            default: throw entry.refused("there is no such key", "keys of [database] are format, version")
            }
        }
        guard format != nil else {
            throw QuirksError(
                line: line, key: "[database]", problem: "has no format", accepted: "add format = \(Self.format)")
        }
        return version
    }

    private static func rowName(_ section: String, line: Int) throws(QuirksError) -> String {
        guard section.hasPrefix(rowPrefix) else {
            throw QuirksError(
                line: line, key: "[\(section)]", problem: "there is no such section",
                accepted: "sections are [database] and [key NAME]")
        }
        let name = String(section.dropFirst(rowPrefix.count))
        let isPlain = name.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-")
        }
        guard (1...40).contains(name.utf8.count), isPlain else {
            throw QuirksError(
                line: line, key: "[\(section)]", problem: "'\(name)' is no name of a row",
                accepted: "it is 1 to 40 small letters, digits and hyphens: [key speaker-microphone]")
        }
        return name
    }
}

extension QuirksEntry {
    func refused(_ problem: String, _ accepted: String) -> QuirksError {
        QuirksError(
            line: line, key: "[\(section)]" + (key.map { " \($0)" } ?? ""), problem: problem, accepted: accepted)
    }
}
