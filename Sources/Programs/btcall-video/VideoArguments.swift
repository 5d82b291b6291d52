import ProgramSettings

/// The command line of `btcall-video`.
typealias VideoArguments = ProgramArguments<VideoSettings>

extension ProgramArguments<VideoSettings> {
    static var standardConfiguration: String { "/etc/btcall/video.conf" }

    /// Text of `--help`.
    static var usage: String {
        """
        usage: btcall-video [--config FILE] [--bus system|session|ADDRESS] [--state FOLDER] [--log-level LEVEL]
                            [--foreground]
               btcall-video --check [FILE]      reads a configuration and says what is wrong with it
               btcall-video --version
        Finds cameras, sets the chosen one, and gives the pictures of calls to displays and programs (org.btcall.Video).
        Coding and network are the softphone's.
        The configuration is /etc/btcall/video.conf unless --config names another; without --config it may be absent.
        Options override the file. Without --bus the variable BTCALL_BUS names the bus, else it is the system's.
        --foreground logs to standard error, also under a service manager.
        """
    }

    /// - Parameter words: without the name of the program.
    init(_ words: [String]) throws(SettingsError) {
        try self.init(
            words, options: ["--state": .stateDirectory, "--log-level": .logLevel],
            standard: Self.standardConfiguration)
    }
}
