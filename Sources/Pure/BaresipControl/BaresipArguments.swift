package import ProgramSettings

/// The command line of `btcall-baresip`.
package struct BaresipArguments: Equatable, Sendable {
    package enum Purpose: Equatable, Sendable {
        case run
        case help
        case version
        /// Checks this configuration file, prints its errors, and exits.
        case check(String)
    }

    package static let standardConfiguration = "/etc/btcall/baresip.conf"

    /// Text of `--help`.
    package static let usage = """
        usage: btcall-baresip [--config FILE] [--bus system|session|ADDRESS] [--control HOST:PORT] [--account ADDRESS]
                              [--log-level LEVEL] [--foreground]
               btcall-baresip --check FILE    reads a configuration and says what is wrong with it
               btcall-baresip --version
        Makes the calls of a running baresip those of btcalld: headsets ring, answer, hold, end and dial.
        The configuration is /etc/btcall/baresip.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """

    package var purpose = Purpose.run
    /// Nil reads `standardConfiguration`, if it exists.
    package var configuration: String?
    /// Value of `--bus`; nil without it.
    package var bus: String?
    package var isForeground = false
    private var account: String?
    private var control: String?
    private var logLevel: String?

    /// - Parameter words: without the name of the program.
    package init(_ words: [String]) throws(SettingsError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--config": configuration = try Self.value(of: word, &rest)
            case "--bus": bus = try Self.value(of: word, &rest)
            case "--control": control = try Self.value(of: word, &rest)
            case "--account": account = try Self.value(of: word, &rest)
            case "--log-level": logLevel = try Self.value(of: word, &rest)
            case "--foreground": isForeground = true
            case "--check": purpose = .check(try Self.value(of: word, &rest))
            case "--version": purpose = .version
            case "--help", "-h": purpose = .help
            default: throw SettingsError("unknown argument \(word)")
            }
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(SettingsError) -> String {
        guard let value = rest.popFirst() else { throw SettingsError("\(word) needs a value") }
        return value
    }

    /// Overrides settings of the file by those of the command line.
    package func apply(to settings: inout BaresipSettings) throws(SettingsError) {
        if let control { try settings.set(.control, control) }
        if let account { try settings.set(.account, account) }
        if let logLevel { try settings.set(.logLevel, logLevel) }
    }
}
