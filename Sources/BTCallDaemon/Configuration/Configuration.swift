package import BluetoothTypes
package import Logging
package import Routing

/// Everything that can be set about the daemon, with the values that hold when nothing is.
///
/// A value: read once from a file (`init(entries:file:)`) or made by a test or the simulator.
package struct Configuration: Sendable {
    /// A local device: an ALSA card's playback and capture with what belongs to it.
    package struct SoundCard: Equatable, Sendable {
        /// ALSA names; nil where the device has no such direction.
        package var playback: String?
        package var capture: String?
        /// Simple mixer control for the playback volume, as `amixer scontrols` names it.
        package var mixer: String?
        /// ALSA control element that tells whether something is plugged.
        package var jack: String?

        package init(playback: String? = nil, capture: String? = nil, mixer: String? = nil, jack: String? = nil) {
            self.playback = playback
            self.capture = capture
            self.mixer = mixer
            self.jack = jack
        }
    }

    /// How long the daemon waits for others; a test is less patient.
    package struct Waits: Sendable {
        /// For a provider to do what it is asked.
        package var provider = Duration.seconds(5)
        /// Between two looks at local devices that are missing or busy; nothing runs while all are there.
        package var localDevice = Duration.seconds(5)
        /// Between two requests for a bus name that is taken.
        package var busName = Duration.seconds(5)
        /// Between two attempts to register a profile that somebody else has.
        package var profile = Duration.seconds(10)
        /// For bluetoothd to list its adapters after it has appeared.
        package var adapter = Duration.seconds(3)

        package init() {}
    }

    package var logLevel: Logger.Level = .info
    /// Directory for what is set at run time; nil keeps nothing.
    package var stateDirectory: String? = "/var/lib/btcall"
    /// Registers profiles, accepts providers and starts the policy at once.
    package var autostart = true
    package var routing = RoutingConfiguration()
    /// Local devices by kind; those that are not here do not exist for the policy.
    package var localDevices: [LocalDevice: SoundCard] = [:]
    /// Codecs offered to headsets, best first; CVSD is always possible.
    package var codecs: [VoiceCodec] = [.mSBC, .cvsd]
    /// Claims HFP 1.10's call duration (+BRSF bit 14).
    package var callDuration = false
    /// Shown by the headset as the network's name (+COPS).
    package var operatorName = "btcall"
    /// Blocks of 10 ms that are under way between the daemon and a telephony application, 2…6.
    package var callQueueBlocks = 5
    /// Period asked of a sound card in milliseconds, 5…40.
    package var periodMilliseconds = 10
    /// No key sets them.
    package var waits = Waits()

    package init() {}

    /// Reads a configuration file.
    ///
    /// - Throws: `ConfigurationError` for the first entry that is not understood.
    package init(file: String) throws(ConfigurationError) {
        try self.init(entries: ConfigurationReader.entries(ofFile: file), file: file)
    }

    /// - Parameters:
    ///   - entries: in the order of the file.
    ///   - file: named in messages.
    package init(entries: [ConfigurationEntry], file: String) throws(ConfigurationError) {
        self.init()
        for entry in entries {
            try apply(entry, file: file)
        }
        for (kind, device) in localDevices where device.playback == nil && device.capture == nil {
            throw ConfigurationError(
                file: file, line: nil, key: "[device \(kind.rawValue)]", problem: "has neither playback nor capture",
                accepted: "name an ALSA device: playback = hw:0,0")
        }
    }

    private mutating func apply(_ entry: ConfigurationEntry, file: String) throws(ConfigurationError) {
        func refused(_ problem: String, _ accepted: String) -> ConfigurationError {
            ConfigurationError(
                file: file, line: entry.line, key: "[\(entry.section)] \(entry.key)", problem: problem,
                accepted: accepted)
        }
        guard let section = ConfigurationSection(entry.section) else {
            throw refused("there is no such section", "sections are " + ConfigurationSection.names)
        }
        guard let key = section.keys.first(where: { $0.name == entry.key }) else {
            let names = section.keys.map(\.name).joined(separator: ", ")
            throw refused("there is no such key", "keys of [\(entry.section)] are \(names)")
        }
        do throws(ConfigurationValueError) {
            try key.apply(&self, entry.value)
        } catch {
            throw refused("'\(entry.value)' is not accepted", "it is \(error.accepted)")
        }
    }
}

/// A value that a key does not take, and what it takes.
package struct ConfigurationValueError: Error {
    package let accepted: String
}
