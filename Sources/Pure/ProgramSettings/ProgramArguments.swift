/// The command line of a program that runs beside btcalld.
package struct ProgramArguments<Settings: CompanionSettings>: Sendable {
    package enum Purpose: Equatable, Sendable {
        case run
        case help
        case version
        /// Checks this configuration file, prints its first error, and exits.
        case check(String)
    }

    package private(set) var purpose = Purpose.run
    /// Nil reads the standard file, if it exists.
    package private(set) var configuration: String?
    /// Value of `--bus`; nil without it.
    package private(set) var bus: String?
    package private(set) var isForeground = false
    private var changes: [(key: Settings.Key, value: String)] = []

    /// - Parameter words: without the name of the program.
    package init(_ words: [String]) throws(SettingsError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--config": configuration = try Self.value(of: word, &rest)
            case "--bus": bus = try Self.value(of: word, &rest)
            case "--foreground": isForeground = true
            case "--check": purpose = .check(rest.popFirst() ?? Settings.standardFile)
            case "--version": purpose = .version
            case "--help", "-h": purpose = .help
            default:
                guard let key = Settings.options[word] else { throw SettingsError("unknown argument \(word)") }
                changes.append((key, try Self.value(of: word, &rest)))
            }
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(SettingsError) -> String {
        guard let value = rest.popFirst() else { throw SettingsError("\(word) needs a value") }
        return value
    }

    /// Overrides settings of the file by those of the command line.
    package func apply(to settings: inout Settings) throws(SettingsError) {
        for change in changes { try settings.set(change.key, change.value) }
    }
}
