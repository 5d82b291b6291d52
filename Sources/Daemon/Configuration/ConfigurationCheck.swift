import HandsFree
import Talk

/// The result of `btcalld --check FILE` for a configuration with the quirks files that it names, for a quirks file, or for a
/// file of known faults (stack.conf).
package struct ConfigurationCheck: Sendable {
    package let file: String
    /// The valid part of the configuration; nil for a file of rows.
    package private(set) var configuration: Configuration?
    /// All mistakes: first those of the file in its order, then those of the quirks files.
    package private(set) var mistakes: [ConfigurationError] = []
    /// The quirks files that were read: `/etc/btcall/quirks.conf (3 rows)`.
    private var quirks: [String] = []

    package var warnings: [ConfigurationError] { configuration?.warnings ?? [] }

    package init(_ file: String) {
        self.file = file
        // A file that cannot be read is reported below, as a configuration.
        if let bytes = try? QuirksDatabase.contents(file, isOptional: false), let kind = Self.rowFile(bytes) {
            do throws(ConfigurationError) {
                switch kind {
                case .quirks:
                    let origin: QuirkRow.Origin = file == Configuration.shippedQuirks ? .shipped : .admin
                    let (database, mistakes) = try QuirksDatabase.reading(bytes, file: file, origin: origin)
                    quirks = database.files.map { "\($0.rowCount) rows" }
                    self.mistakes = mistakes
                case .talkKeys:
                    let origin: TalkRow.Origin = file == Configuration.shippedTalkKeys ? .shipped : .admin
                    let (rows, mistakes) = try TalkRows.reading(bytes, file: file, origin: origin)
                    quirks = ["\(rows.rows.count) talk keys"]
                    self.mistakes = mistakes
                case .stack:
                    let (database, mistakes) = try StackDatabase.reading(bytes, file: file)
                    quirks = ["\(database.faults.count) faults"]
                    self.mistakes = mistakes
                }
            } catch {
                mistakes = [error]
            }
            return
        }
        let (configuration, mistakes) = Configuration.loading(file)
        self.configuration = configuration
        self.mistakes = mistakes
        quirks = configuration.quirks.files.map { "\($0.path) (\($0.rowCount) rows)" }
        quirks += configuration.talkRows.files.map { "\($0.path) (\($0.rowCount) talk keys)" }
    }

    /// One line for a file without mistakes.
    package var summary: String {
        guard configuration != nil else { return "\(file) is understood: \(quirks.joined())" }
        return "\(([file] + quirks).joined(separator: ", ")) is understood"
    }

    /// Reads a configuration with the quirks files that it names, or a file of rows.
    ///
    /// - Returns: one line for a file without mistakes.
    /// - Throws: the first mistake.
    package static func check(_ file: String) throws(ConfigurationError) -> String {
        let check = ConfigurationCheck(file)
        if let mistake = check.mistakes.first { throw mistake }
        return check.summary
    }

    private enum RowFileKind {
        case quirks, talkKeys, stack
    }

    /// Decides by the first section; nil for a configuration, also for an unknown first section.
    private static func rowFile(_ bytes: [UInt8]) -> RowFileKind? {
        let heads = bytes.split(separator: UInt8(ascii: "\n")).filter { $0.first == UInt8(ascii: "[") }
        guard let first = heads.first else { return nil }
        func begins(_ text: String) -> Bool { first.starts(with: text.utf8) }
        if heads.contains(where: { $0.starts(with: "[key ".utf8) }) { return .talkKeys }
        if begins("[database]") || begins("[quirk ") { return .quirks }
        return begins("[stack]") || begins("[fault ") ? .stack : nil
    }
}

extension Configuration {
    /// Reads a configuration and the quirks files that it names, all of them to the end.
    ///
    /// - Parameter file: nil: no file, and every key has its default.
    /// - Returns: the valid part of the configuration, and all mistakes.
    package static func loading(_ file: String?) -> (configuration: Configuration, mistakes: [ConfigurationError]) {
        var configuration = Configuration()
        var mistakes: [ConfigurationError] = []
        do throws(ConfigurationError) {
            if let file {
                (configuration, mistakes) = try reading(file: file)
            } else {
                configuration.chooseRingDevice()
            }
        } catch {
            return (configuration, [error])
        }
        mistakes += configuration.loadQuirks()
        mistakes += configuration.loadTalkKeys()
        return (configuration, mistakes)
    }

    /// Reads the files of talk keys that this configuration names.
    ///
    /// - Returns: all mistakes in those files.
    package mutating func loadTalkKeys() -> [ConfigurationError] {
        let (rows, mistakes) = TalkRows.loading(shipped: talkKeysFile, overlay: talkKeysOverlay)
        talkRows = rows
        return mistakes
    }

    /// Reads the quirks files that this configuration names.
    ///
    /// - Returns: all mistakes in those files.
    package mutating func loadQuirks() -> [ConfigurationError] {
        let (database, mistakes) = QuirksDatabase.loading(shipped: quirksFile, overlay: quirksOverlay)
        quirks = database
        for key in database.formerKeys {
            warnings.append(
                ConfigurationError(
                    file: key.path, line: key.line, key: key.name, problem: "is called \(key.current) now",
                    accepted: "write \(key.current) = \(key.value)"))
        }
        return mistakes
    }
}
