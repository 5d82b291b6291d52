import HandsFree
package import Talk

// From files to rows of talk keys: libinih reads the lines, Talk turns them into rows.
extension TalkRows {
    /// Reads a file of talk keys. This is the function to fuzz.
    ///
    /// - Parameters:
    ///   - bytes: the whole file; any bytes give rows or a mistake.
    ///   - file: name of the file in messages.
    /// - Throws: `ConfigurationError` for the first mistake, with its line.
    package init(
        parsing bytes: [UInt8], file: String, origin: TalkRow.Origin
    ) throws(ConfigurationError) {
        let (rows, mistakes) = try Self.reading(bytes, file: file, origin: origin)
        if let mistake = mistakes.first { throw mistake }
        self = rows
    }

    /// Reads a file of talk keys to its end.
    ///
    /// - Returns: the valid rows, and the first mistake of each section.
    /// - Throws: `ConfigurationError` for an invalid line.
    package static func reading(
        _ bytes: [UInt8], file: String, origin: TalkRow.Origin
    ) throws(ConfigurationError) -> (rows: TalkRows, mistakes: [ConfigurationError]) {
        let entries = try RowFile.entries(bytes, file: file, heads: "[database] or [key NAME]")
        let (rows, mistakes) = reading(entries: entries, path: file, origin: origin)
        let errors = mistakes.map { error in
            ConfigurationError(
                file: file, line: error.line, key: error.key, problem: error.problem, accepted: error.accepted)
        }
        return (rows, errors)
    }
}
