/// Rows of the shipped and the administrator's quirks file, in the order in which they apply.
///
/// The shipped rows come first, from top to bottom, then the administrator's. An administrator's row replaces the shipped
/// row of the same name, or switches it off. Of two rows that set the same key the later one counts; features and codecs add
/// up. The configuration of one headset comes last. Read by `QuirksDatabase(parsing:file:)` (BTCallDaemon).
package struct QuirksDatabase: Hashable, Sendable {
    /// A file that has been read.
    package struct File: Hashable, Sendable {
        package let path: String
        package let origin: QuirkRow.Origin
        /// From the file; nil if not given.
        package let version: String?
        package let rowCount: Int

        package init(path: String, origin: QuirkRow.Origin, version: String?, rowCount: Int) {
            self.path = path
            self.origin = origin
            self.version = version
            self.rowCount = rowCount
        }
    }

    /// An entry with a key that has been renamed since.
    package struct FormerKey: Hashable, Sendable {
        package let path: String
        package let line: Int
        /// `[quirk slow-car-kits] audioDelayMs`.
        package let name: String
        /// Present key, and its value.
        package let current: String
        package let value: String

        /// Nil for an entry with its present key.
        init?(_ entry: QuirksEntry, _ path: String) {
            guard let word = entry.key, let key = QuirkEffect.Key(spelled: word), key.rawValue != word else {
                return nil
            }
            self.path = path
            line = entry.line
            name = "[\(entry.section)] \(word)"
            current = key.rawValue
            value = entry.value
        }
    }

    package private(set) var files: [File] = []
    package private(set) var formerKeys: [FormerKey] = []
    package private(set) var rows: [QuirkRow] = []
    /// Names that the administrator's file switches off but no shipped row has.
    package private(set) var unknownNames: [String] = []

    /// Creates a database without rows.
    package init() {}

    init(file: File, rows: [QuirkRow], switchedOff: [String], formerKeys: [FormerKey]) {
        files = [file]
        self.formerKeys = formerKeys
        self.rows = rows
        unknownNames = switchedOff
    }

    /// Combines the administrator's file with this one.
    package func overlaid(by overlay: QuirksDatabase) -> QuirksDatabase {
        var result = self
        result.files += overlay.files
        result.formerKeys += overlay.formerKeys
        let replaced = Set(overlay.rows.map(\.name))
        result.rows.removeAll { replaced.contains($0.name) }
        for index in result.rows.indices where overlay.unknownNames.contains(result.rows[index].name) {
            result.rows[index].isEnabled = false
        }
        let names = Set(rows.map(\.name))
        result.unknownNames = overlay.unknownNames.filter { !names.contains($0) }
        result.rows += overlay.rows
        return result
    }

    /// Explains which rows apply, why, and with what result.
    ///
    /// - Parameters:
    ///   - lastWord: effects from the configuration of this headset.
    ///   - today: expired rows do not apply.
    package func explain(
        _ subject: QuirkSubject, lastWord: [QuirkEffect] = [], on today: CalendarDate
    ) -> QuirksExplanation {
        var applied: [QuirksExplanation.Match] = []
        var near: [QuirksExplanation.Match] = []
        for row in rows {
            var match = QuirksExplanation.Match(row: row, reasons: [], obstacles: [])
            var isDeviceMeant = false
            for condition in row.conditions {
                switch condition.check(subject) {
                case .holds(let reason):
                    match.reasons.append(reason)
                    isDeviceMeant = isDeviceMeant || condition.isAboutDevice
                case .fails(let obstacle): match.obstacles.append(obstacle)
                }
            }
            let isMatch = match.obstacles.isEmpty
            switch row.state(on: today) {
            case .active: break
            case .expired(let date): match.obstacles.append("it has expired on \(date)")
            case .off: match.obstacles.append("it is switched off")
            }
            if match.obstacles.isEmpty {
                applied.append(match)
            } else if isDeviceMeant || isMatch {
                near.append(match)
            }
        }
        return QuirksExplanation(subject: subject, applied: applied, near: near, lastWord: lastWord)
    }
}
