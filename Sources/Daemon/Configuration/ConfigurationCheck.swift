import HandsFree

/// What `btcalld --check FILE` does.
package enum ConfigurationCheck {
    /// Reads a configuration with the quirks files that it names, or a quirks file.
    ///
    /// - Returns: what to say when all of it is understood.
    package static func check(_ file: String) throws(ConfigurationError) -> String {
        // A file that cannot be read is refused below, as the configuration that it would have been.
        if let bytes = try? QuirksDatabase.contents(file, isOptional: false), isQuirksFile(bytes) {
            let origin: QuirkRow.Origin = file == Configuration.shippedQuirks ? .shipped : .admin
            let database = try QuirksDatabase(parsing: bytes, file: file, origin: origin)
            return "\(file) is understood: \(database.files[0].rowCount) rows"
        }
        var configuration = try Configuration(file: file)
        try configuration.loadQuirks()
        let quirks = configuration.quirks.files.map { ", \($0.path) (\($0.rowCount) rows)" }.joined()
        return "\(file)\(quirks) is understood"
    }

    /// The first section says it; a file whose first section is no known one is taken for a configuration.
    private static func isQuirksFile(_ bytes: [UInt8]) -> Bool {
        let heads = bytes.split(separator: UInt8(ascii: "\n")).filter { $0.first == UInt8(ascii: "[") }
        guard let first = heads.first else { return false }
        return first.starts(with: "[database]".utf8) || first.starts(with: "[quirk ".utf8)
    }
}

extension Configuration {
    /// Reads the quirks files that this configuration names.
    package mutating func loadQuirks() throws(ConfigurationError) {
        quirks = try QuirksDatabase.load(shipped: quirksFile, overlay: quirksOverlay)
    }
}
