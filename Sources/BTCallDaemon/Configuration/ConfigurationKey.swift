import BluetoothTypes
import Logging
package import Routing

/// One key of the configuration file: its name, what it means and how a value is taken.
///
/// The example file that ships is checked against these, so a key cannot go undocumented.
package struct ConfigurationKey {
    package let name: String
    /// One line for the example file.
    package let summary: String
    /// The value that holds when the key is absent, as it would be written; empty when nothing is.
    package let standard: String
    let apply: (inout Configuration, String) throws(ConfigurationValueError) -> Void

    init(
        _ name: String, _ standard: String, _ summary: String,
        _ apply: @escaping (inout Configuration, String) throws(ConfigurationValueError) -> Void
    ) {
        self.name = name
        self.standard = standard
        self.summary = summary
        self.apply = apply
    }
}

/// The sections of the configuration file.
package enum ConfigurationSection: Equatable {
    case daemon, routing, bluetooth, audio
    case device(LocalDevice)

    package init?(_ name: String) {
        switch name {
        case "daemon": self = .daemon
        case "routing": self = .routing
        case "bluetooth": self = .bluetooth
        case "audio": self = .audio
        default:
            let words = name.split(separator: " ")
            guard words.count == 2, words[0] == "device", let kind = LocalDevice(rawValue: String(words[1])) else {
                return nil
            }
            self = .device(kind)
        }
    }

    package static let all: [ConfigurationSection] =
        [.daemon, .routing, .bluetooth, .audio] + LocalDevice.allCases.map { .device($0) }

    static var names: String { all.map { "[\($0.name)]" }.joined(separator: ", ") }

    package var name: String {
        switch self {
        case .daemon: "daemon"
        case .routing: "routing"
        case .bluetooth: "bluetooth"
        case .audio: "audio"
        case .device(let kind): "device \(kind.rawValue)"
        }
    }

    package var keys: [ConfigurationKey] {
        switch self {
        case .daemon: Self.daemonKeys
        case .routing: Self.routingKeys
        case .bluetooth: Self.bluetoothKeys
        case .audio: Self.audioKeys
        case .device(let kind): Self.deviceKeys(kind)
        }
    }

    private static var daemonKeys: [ConfigurationKey] {
        [
            ConfigurationKey("logLevel", "info", "trace, debug, info, notice, warning or error") {
                configuration, value throws(ConfigurationValueError) in
                guard let level = Logger.Level(rawValue: value) else {
                    throw ConfigurationValueError(
                        accepted: Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))
                }
                configuration.logLevel = level
            },
            ConfigurationKey("stateDirectory", "/var/lib/btcall", "where preferences set at run time are kept") {
                configuration, value throws(ConfigurationValueError) in
                guard value.hasPrefix("/") else { throw ConfigurationValueError(accepted: "an absolute path") }
                configuration.stateDirectory = value
            },
            ConfigurationKey("autostart", "yes", "register profiles and start the policy when the daemon starts") {
                configuration, value throws(ConfigurationValueError) in
                configuration.autostart = try boolean(value)
            },
        ]
    }

    private static var routingKeys: [ConfigurationKey] {
        RoutingKey.allCases.map { key in
            ConfigurationKey(key.rawValue, RoutingConfiguration.defaultValue(of: key), key.documentation) {
                configuration, value throws(ConfigurationValueError) in
                do throws(RoutingConfigurationError) {
                    try configuration.routing.set(key: key.rawValue, value: value)
                } catch {
                    throw ConfigurationValueError(accepted: key.type.accepted)
                }
            }
        }
    }

    private static var bluetoothKeys: [ConfigurationKey] {
        [
            ConfigurationKey("codecs", "msbc, cvsd", "codecs offered to headsets, best first") {
                configuration, value throws(ConfigurationValueError) in
                var codecs: [VoiceCodec] = []
                for word in value.split(whereSeparator: { $0 == "," || $0 == " " }) {
                    switch word.lowercased() {
                    case "msbc": codecs.append(.mSBC)
                    case "cvsd": codecs.append(.cvsd)
                    default: throw ConfigurationValueError(accepted: "a list of msbc, cvsd")
                    }
                }
                guard !codecs.isEmpty else { throw ConfigurationValueError(accepted: "a list of msbc, cvsd") }
                configuration.codecs = codecs.contains(.cvsd) ? codecs : codecs + [.cvsd]
            },
            ConfigurationKey("callDuration", "no", "offer the call duration of HFP 1.10") {
                configuration, value throws(ConfigurationValueError) in
                configuration.callDuration = try boolean(value)
            },
            ConfigurationKey("operatorName", "btcall", "what a headset with a display shows as the network") {
                configuration, value throws(ConfigurationValueError) in
                guard (1...16).contains(value.utf8.count) else {
                    throw ConfigurationValueError(accepted: "1 to 16 characters")
                }
                configuration.operatorName = value
            },
        ]
    }

    private static var audioKeys: [ConfigurationKey] {
        [
            ConfigurationKey("callQueueBlocks", "5", "blocks of 10 ms under way to a telephony application") {
                configuration, value throws(ConfigurationValueError) in
                configuration.callQueueBlocks = try integer(value, in: 2...6)
            },
            ConfigurationKey("periodMilliseconds", "10", "period asked of sound cards") {
                configuration, value throws(ConfigurationValueError) in
                configuration.periodMilliseconds = try integer(value, in: 5...40)
            },
        ]
    }

    private static func deviceKeys(_ kind: LocalDevice) -> [ConfigurationKey] {
        func key(_ name: String, _ summary: String, _ path: WritableKeyPath<Configuration.SoundCard, String?>)
            -> ConfigurationKey
        {
            ConfigurationKey(name, "", summary) { configuration, value throws(ConfigurationValueError) in
                guard !value.isEmpty else {
                    throw ConfigurationValueError(accepted: "a name; leave the key out for none")
                }
                configuration.localDevices[kind, default: Configuration.SoundCard()][keyPath: path] = value
            }
        }
        return [
            key("playback", "ALSA device for what the person hears, as in `aplay -D`", \.playback),
            key("capture", "ALSA device of the microphone, as in `arecord -D`", \.capture),
            key("mixer", "simple mixer control of the playback volume, as in `amixer scontrols`", \.mixer),
            key("jack", "control element of the jack, as in `amixer controls`", \.jack),
        ]
    }

    private static func boolean(_ value: String) throws(ConfigurationValueError) -> Bool {
        switch value.lowercased() {
        case "yes", "true", "on", "1": true
        case "no", "false", "off", "0": false
        default: throw ConfigurationValueError(accepted: "yes or no")
        }
    }

    private static func integer(_ value: String, in range: ClosedRange<Int>) throws(ConfigurationValueError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw ConfigurationValueError(accepted: "a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}
