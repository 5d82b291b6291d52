package import HandsFree

// From files to rows: libinih reads the lines, HandsFree turns them into rows.
extension QuirksDatabase {
    /// Longest file in bytes.
    package static let mostBytes = RowFile.mostBytes

    /// Reads a quirks file. This is the function to fuzz.
    ///
    /// Any bytes give rows or a mistake; a byte that libinih may read differently from a person is refused.
    ///
    /// - Parameters:
    ///   - bytes: the whole file.
    ///   - file: name of the file in messages and explanations.
    /// - Throws: `ConfigurationError` for the first mistake, with its line.
    package init(
        parsing bytes: [UInt8], file: String, origin: QuirkRow.Origin = .shipped
    ) throws(ConfigurationError) {
        let (database, mistakes) = try Self.reading(bytes, file: file, origin: origin)
        if let mistake = mistakes.first { throw mistake }
        self = database
    }

    /// Reads a quirks file to its end.
    ///
    /// - Returns: the valid rows, and the first mistake of each section.
    /// - Throws: `ConfigurationError` for an invalid line.
    package static func reading(
        _ bytes: [UInt8], file: String, origin: QuirkRow.Origin
    ) throws(ConfigurationError) -> (database: QuirksDatabase, mistakes: [ConfigurationError]) {
        let entries = try RowFile.entries(bytes, file: file, heads: "[database] or [quirk NAME]")
        let (database, mistakes) = reading(entries: entries, path: file, origin: origin)
        let errors = mistakes.map { error in
            ConfigurationError(
                file: file, line: error.line, key: error.key, problem: error.problem, accepted: error.accepted)
        }
        return (database, errors)
    }
}
