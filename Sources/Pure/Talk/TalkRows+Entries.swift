package import HandsFree

extension TalkRows {
    /// File format that this reader supports.
    package static let format = 1
    /// Most rows of a file.
    package static let mostRows = 200
    private static let sections = RowSections(
        format: format, mostRows: mostRows, word: "key", example: "speaker-microphone")

    /// Reads the rows of a file, to its end despite errors.
    ///
    /// - Parameters:
    ///   - entries: headers and keys in the order of the file.
    ///   - path: of the file.
    /// - Returns: the valid rows, and the first error of each section.
    package static func reading(
        entries: [QuirksEntry], path: String, origin: TalkRow.Origin
    ) -> (rows: TalkRows, mistakes: [QuirksError]) {
        var rows: [TalkRow] = []
        var switchedOff: [String] = []
        let (version, mistakes) = sections.read(entries) { name, line, keys throws(QuirksError) in
            guard origin == .shipped || !isOnlySwitchedOff(keys) else {
                switchedOff.append(name)
                return
            }
            rows.append(try TalkRow(name: name, line: line, entries: keys, origin: origin))
        }
        let file = File(path: path, origin: origin, version: version, rowCount: rows.count + switchedOff.count)
        return (TalkRows(file: file, rows: rows, switchedOff: switchedOff), mistakes)
    }

    /// Whether the only line of a section is `enabled = no`.
    private static func isOnlySwitchedOff(_ keys: [QuirksEntry]) -> Bool {
        keys.count == 1 && keys[0].key == "enabled" && keys[0].value.lowercased() == "no"
    }
}
