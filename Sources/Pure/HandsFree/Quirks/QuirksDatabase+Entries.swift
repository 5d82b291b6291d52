import Spelling

extension QuirksDatabase {
    /// File format that this reader supports.
    package static let format = 1
    package static let mostRows = 500
    private static let sections = RowSections(
        format: format, mostRows: mostRows, word: "quirk", example: "slow-car-kits",
        reserved: QuirksExplanation.configuration)

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
        var rows: [QuirkRow] = []
        var switchedOff: [String] = []
        let (version, mistakes) = sections.read(entries) { name, line, keys throws(QuirksError) in
            guard let row = try QuirkRow(name: name, line: line, entries: keys, origin: origin) else {
                switchedOff.append(name)
                return
            }
            rows.append(row)
        }
        let file = File(path: path, origin: origin, version: version, rowCount: rows.count + switchedOff.count)
        let database = QuirksDatabase(
            file: file, rows: rows, switchedOff: switchedOff, formerKeys: entries.compactMap { FormerKey($0, path) })
        return (database, mistakes)
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
