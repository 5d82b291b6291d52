import Spelling

/// One `key = value` of a quirks file, or a section header, with its position.
package struct QuirksEntry: Hashable, Sendable {
    package let section: String
    /// Nil for the header itself.
    package let key: String?
    package let value: String
    /// Counted from 1.
    package let line: Int

    package init(section: String, key: String?, value: String, line: Int) {
        self.section = section
        self.key = key
        self.value = value
        self.line = line
    }
}

/// Error in a quirks file: position, problem and accepted content.
package struct QuirksError: Error, Hashable, Sendable {
    /// Nil when the file as a whole is meant.
    package let line: Int?
    /// `[section] key`; nil without a key.
    package let key: String?
    package let problem: String
    package let accepted: String

    package init(line: Int?, key: String?, problem: String, accepted: String) {
        self.line = line
        self.key = key
        self.problem = problem
        self.accepted = accepted
    }
}

extension QuirksDatabase {
    /// File format that this reader supports.
    package static let format = 1
    package static let mostRows = 500
    private static let head = "database"
    private static let rowPrefix = "quirk "
    private static let namesAccepted = "1 to 40 small letters, digits and hyphens: [quirk slow-car-kits]"

    /// Reads the rows of a file.
    ///
    /// - Parameters:
    ///   - entries: headers and keys in the order of the file.
    ///   - path: of the file.
    /// - Throws: for the first invalid entry. No row or key is skipped.
    package init(
        entries: [QuirksEntry], path: String, origin: QuirkRow.Origin
    ) throws(QuirksError) {
        let (database, mistakes) = Self.reading(entries: entries, path: path, origin: origin)
        if let mistake = mistakes.first { throw mistake }
        self = database
    }

    /// Reads to the end of the file despite errors.
    ///
    /// - Returns: the valid rows, and the first error of each section.
    package static func reading(
        entries: [QuirksEntry], path: String, origin: QuirkRow.Origin
    ) -> (database: QuirksDatabase, mistakes: [QuirksError]) {
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
        var rows: [QuirkRow] = []
        var switchedOff: [String] = []
        for (index, section) in sections.enumerated() {
            do throws(QuirksError) {
                guard index > 0 || section.name != head else {
                    version = try readHead(section.keys, line: section.line)
                    continue
                }
                let name = try rowName(section.name, line: section.line)
                if let row = try QuirkRow(name: name, line: section.line, entries: section.keys, origin: origin) {
                    rows.append(row)
                } else {
                    switchedOff.append(name)
                }
            } catch {
                mistakes.append(error)
            }
        }
        let file = File(path: path, origin: origin, version: version, rowCount: rows.count + switchedOff.count)
        let database = QuirksDatabase(
            file: file, rows: rows, switchedOff: switchedOff, formerKeys: entries.compactMap { FormerKey($0, path) })
        return (database, mistakes)
    }

    private typealias Section = (name: String, line: Int, keys: [QuirksEntry])

    private static func sections(of entries: [QuirksEntry]) -> (sections: [Section], mistakes: [QuirksError]) {
        var sections: [Section] = []
        var mistakes: [QuirksError] = []
        for entry in entries {
            if entry.key == nil {
                if let earlier = sections.first(where: { $0.name == entry.section }) {
                    mistakes.append(
                        QuirksError(
                            line: entry.line, key: "[\(entry.section)]", problem: "is given a second time",
                            accepted: "keep one of this and line \(earlier.line)"))
                }
                sections.append((entry.section, entry.line, []))
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
                        "'\(entry.value)' is not accepted", "it is 1 to 40 bytes, for people: 2026-11-21")
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
                accepted: "sections are [database] and [quirk NAME]")
        }
        let name = String(section.dropFirst(rowPrefix.count))
        let isPlain = name.utf8.allSatisfy {
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                || $0 == UInt8(ascii: "-")
        }
        guard (1...40).contains(name.utf8.count), isPlain, name != QuirksExplanation.configuration else {
            throw QuirksError(
                line: line, key: "[\(section)]", problem: "'\(name)' is no name of a row",
                accepted: "it is \(namesAccepted)")
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

extension QuirkRow {
    private static let otherKeys = ["advice", "reference", "reason", "expires", "enabled"]
    /// Maximum length of advice, reference and reason in bytes; about the length of a line.
    private static let longestText = 180

    private static func effect(
        _ key: QuirkEffect.Key, _ entry: QuirksEntry, beside others: [QuirkEffect]
    ) throws(QuirksError) -> QuirkEffect {
        guard !others.contains(where: { $0.key == key }) else {
            throw entry.refused("is given a second time, as \(key.rawValue)", "keep one of both")
        }
        guard let effect = QuirkEffect(key, entry.value) else {
            throw entry.refused("'\(entry.value)' is not accepted", "it is \(key.accepted)")
        }
        return effect
    }

    /// - Returns: nil for a row that only switches off another one of its name.
    init?(name: String, line: Int, entries: [QuirksEntry], origin: Origin) throws(QuirksError) {
        var conditions: [QuirkCondition] = []
        var effects: [QuirkEffect] = []
        var texts: [String: String] = [:]
        var expires: CalendarDate?
        var isEnabled = true
        for entry in entries {
            let word = entry.key ?? ""
            if let key = QuirkCondition.Key(rawValue: word) {
                guard let condition = QuirkCondition(key, entry.value) else {
                    throw entry.refused("'\(entry.value)' is not accepted", "it is \(key.accepted)")
                }
                conditions.append(condition)
            } else if let key = QuirkEffect.Key(spelled: word) {
                effects.append(try Self.effect(key, entry, beside: effects))
            } else {
                switch word {
                case "advice", "reference", "reason":
                    guard (1...Self.longestText).contains(entry.value.utf8.count) else {
                        throw entry.refused("is empty or too long", "it is a text of 1 to \(Self.longestText) bytes")
                    }
                    texts[word] = entry.value
                case "expires":
                    guard let date = CalendarDate(entry.value) else {
                        throw entry.refused("'\(entry.value)' is not accepted", "it is a date: 2027-06-30")
                    }
                    expires = date
                case "enabled":
                    switch entry.value.lowercased() {
                    case "yes": isEnabled = true
                    case "no": isEnabled = false
                    default: throw entry.refused("'\(entry.value)' is not accepted", "it is yes or no")
                    }
                default:
                    let words =
                        QuirkCondition.Key.allCases.map(\.rawValue) + QuirkEffect.Key.allCases.map(\.rawValue)
                        + Self.otherKeys
                    throw entry.refused(
                        "there is no such key",
                        Suggestion.question(for: word, among: words)
                            ?? "keys of a row are \(words.joined(separator: ", "))")
                }
            }
        }
        if entries.count == 1, !isEnabled, origin == .admin { return nil }
        func missing(_ problem: String, _ accepted: String) -> QuirksError {
            QuirksError(line: line, key: "[quirk \(name)]", problem: problem, accepted: accepted)
        }
        guard !conditions.isEmpty else {
            throw missing(
                "says no headset and no controller",
                "give one or more of \(QuirkCondition.Key.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard !effects.isEmpty || texts["advice"] != nil else {
            throw missing(
                "does nothing",
                "give advice or one or more of \(QuirkEffect.Key.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        guard let reference = texts["reference"] else {
            throw missing("has no reference", "say where it is known from: reference = bluez-alsa #258")
        }
        guard let reason = texts["reason"] else {
            throw missing("has no reason", "say what goes wrong without it: reason = stays muted")
        }
        self.init(
            name: name, origin: origin, line: line, conditions: conditions, effects: effects, advice: texts["advice"],
            reference: reference, reason: reason, expires: expires, isEnabled: isEnabled)
    }
}
