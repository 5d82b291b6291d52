import ProgramSettings

/// The command line of `btcall-web`.
typealias WebArguments = ProgramArguments<WebSettings>

extension ProgramArguments<WebSettings> {
    static var standardConfiguration: String { "/etc/btcall/web.conf" }

    /// Text of `--help`.
    static var usage: String {
        """
        usage: btcall-web [--config FILE] [--bus system|session|ADDRESS] [--listen ADDRESS:PORT|none] [--socket PATH|none]
                          [--files FOLDER] [--log-level LEVEL] [--foreground]
               btcall-web --check [FILE]      reads a configuration and says what is wrong with it
               btcall-web --version
        Serves the calls, routes and headsets of btcalld over HTTP and WebSocket, to web pages and programs with a token.
        The configuration is /etc/btcall/web.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """
    }

    /// - Parameter words: without the name of the program.
    init(_ words: [String]) throws(SettingsError) {
        try self.init(
            words, options: ["--listen": .listen, "--socket": .socket, "--files": .files, "--log-level": .logLevel],
            standard: Self.standardConfiguration)
    }
}
