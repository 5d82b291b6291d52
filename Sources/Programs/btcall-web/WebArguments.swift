/// The command line of `btcall-web`.
struct WebArguments: Equatable, Sendable {
    enum Purpose: Equatable, Sendable {
        case run
        case help
        case version
        /// Checks this configuration file, prints its errors, and exits.
        case check(String)
    }

    static let standardConfiguration = "/etc/btcall/web.conf"

    /// Text of `--help`.
    static let usage = """
        usage: btcall-web [--config FILE] [--bus system|session|ADDRESS] [--listen ADDRESS:PORT|none] [--socket PATH|none]
                          [--files FOLDER] [--log-level LEVEL] [--foreground]
               btcall-web --check [FILE]      reads a configuration and says what is wrong with it
               btcall-web --version
        Serves the calls, routes and headsets of btcalld over HTTP and WebSocket, to web pages and programs with a token.
        The configuration is /etc/btcall/web.conf unless --config names another; without --config it may be absent.
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
        let key: WebSettings.Key
        let value: String
    }

    private static let options: [String: WebSettings.Key] = [
        "--listen": .listen, "--socket": .socket, "--files": .files, "--log-level": .logLevel,
    ]

    /// - Parameter words: without the name of the program.
    init(_ words: [String]) throws(WebSettingsError) {
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
                guard let key = Self.options[word] else { throw WebSettingsError("unknown argument \(word)") }
                changes.append(Change(key: key, value: try Self.value(of: word, &rest)))
            }
        }
    }

    private static func value(of word: String, _ rest: inout ArraySlice<String>) throws(WebSettingsError) -> String {
        guard let value = rest.popFirst() else { throw WebSettingsError("\(word) needs a value") }
        return value
    }

    /// Overrides settings of the file by those of the command line.
    func apply(to settings: inout WebSettings) throws(WebSettingsError) {
        for change in changes { try settings.set(change.key, change.value) }
    }
}
