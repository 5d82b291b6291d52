/// The rows of all files of talk keys: shipped, the administrator's, learnt.
package struct TalkRows: Hashable, Sendable {
    /// A file that has been read.
    package struct File: Hashable, Sendable {
        package let path: String
        package let origin: TalkRow.Origin
        /// From the file; nil if not given.
        package let version: String?
        package let rowCount: Int
    }

    package private(set) var files: [File] = []
    /// In order of precedence: the first row whose conditions all hold is the device's.
    package private(set) var rows: [TalkRow] = []
    /// Names that a file switches off but no earlier file has.
    package private(set) var unknownNames: [String] = []

    /// Creates an empty list.
    package init() {}

    init(file: File, rows: [TalkRow], switchedOff: [String]) {
        files = [file]
        self.rows = rows
        unknownNames = switchedOff
    }

    /// Combines the next file with these: its rows are tried before these, replace those of the same name, and a section with
    /// only `enabled = no` switches one off.
    package func overlaid(by overlay: TalkRows) -> TalkRows {
        var result = self
        result.files += overlay.files
        let replaced = Set(overlay.rows.map(\.name))
        result.rows.removeAll { replaced.contains($0.name) }
        for index in result.rows.indices where overlay.unknownNames.contains(result.rows[index].name) {
            result.rows[index].isEnabled = false
        }
        let names = Set(rows.map(\.name))
        result.unknownNames += overlay.unknownNames.filter { !names.contains($0) }
        result.rows = overlay.rows + result.rows
        return result
    }

    /// The row of a device; nil: no row is for it.
    package func row(for subject: TalkSubject) -> TalkRow? { rows.first { $0.reasons(for: subject) != nil } }

    /// The learnt rows as a whole file, for the state directory.
    package var learntText: String { Self.text(rows.filter { $0.origin == .learnt }) }

    /// These rows and a learnt one, which replaces the learnt row of the same name.
    package func learning(_ row: TalkRow) -> TalkRows {
        var result = self
        result.rows.removeAll { $0.origin == .learnt && $0.name == row.name }
        result.rows.insert(row, at: 0)
        return result
    }

    /// These rows without a learnt one; nil: no learnt row has this name.
    package func forgetting(_ name: String) -> TalkRows? {
        var result = self
        result.rows.removeAll { $0.origin == .learnt && $0.name == name }
        return result.rows.count == rows.count ? nil : result
    }

    private static func text(_ rows: [TalkRow]) -> String {
        (["[database]\nformat = \(format)\n"] + rows.map(\.text)).joined(separator: "\n")
    }
}
