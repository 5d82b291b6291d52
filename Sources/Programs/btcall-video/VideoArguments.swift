/// The command line of `btcall-video`.
struct VideoArguments: Equatable, Sendable {
    enum Purpose: Equatable, Sendable {
        case run
        case help
        case version
        /// Checks this configuration file, prints its first error, and exits.
        case check(String)
    }

    static let standardConfiguration = "/etc/btcall/video.conf"

    /// Text of `--help`.
    static let usage = """
        usage: btcall-video [--config FILE] [--bus system|session|ADDRESS] [--state FOLDER] [--log-level LEVEL]
                            [--foreground]
               btcall-video --check [FILE]      reads a configuration and says what is wrong with it
               btcall-video --version
        Finds cameras, sets the chosen one, and says on D-Bus (org.btcall.Video) what was reached. It carries no picture.
        The configuration is /etc/btcall/video.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """

    var purpose = Purpose.run
    /// Nil reads ``standardConfiguration``, if it exists.
    var configuration: String?
    /// Value of `--bus`; nil without it.
    var bus: String?
    var isForeground = false
    private var changes: [Change] = []

    private struct Change: Equatable, Sendable {
        let key: VideoSettings.Key
        let value: String
    }

    private static let options: [String: VideoSettings.Key] = ["--state": .stateDirectory, "--log-level": .logLevel]

    /// - Parameter words: without the name of the program.
    init(_ words: [String]) throws(VideoSettingsError) {
        var rest = words[...]
        while let word = rest.popFirst() {
            switch word {
            case "--config": configuration = try Self.value(of: word, &rest)
            case "--bus": bus = try Self.value(of: word, &rest)
            case "--foreground": isForeground = true
            case "--check": purpose = .check(rest.popFirst() ?? Self.standardConfiguration)
            case "--version": purpose = .version
            case "--help", "-h": purpose = .help
            default:
                guard let key = Self.options[word] else { throw VideoSettingsError("unknown argument \(word)") }
                changes.append(Change(key: key, value: try Self.value(of: word, &rest)))
            }
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(VideoSettingsError) -> String {
        guard let value = rest.popFirst() else { throw VideoSettingsError("\(word) needs a value") }
        return value
    }

    /// Overrides settings of the file by those of the command line.
    func apply(to settings: inout VideoSettings) throws(VideoSettingsError) {
        for change in changes { try settings.set(change.key, change.value) }
    }
}
