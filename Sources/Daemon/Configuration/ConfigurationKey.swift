import AudioDSP
package import BTCallAPI
package import BluetoothTypes
import Logging
package import Routing
import Spelling

/// One key of the configuration: its name, its meaning, and how its value is read and written.
///
/// A test compares the shipped example file with these keys, so that every key is documented.
package struct ConfigurationKey {
    package let name: String
    /// One line for the example file.
    package let summary: String
    /// The default as written in the file; empty for none.
    package let standard: String
    /// The accepted values, in words for people.
    package let accepted: String
    /// The condition for a change at run time.
    package enum Condition: Sendable { case always, inactive, noCalls }

    package private(set) var condition = Condition.always
    private var runtimeForm: RuntimeForm?
    /// When a change at run time takes effect.
    package let effect: SettingDescription.Effect
    /// The key's value in a configuration, as written in the file; empty for none.
    package let read: (Configuration) -> String
    package let apply: (inout Configuration, String) throws(ConfigurationValueError) -> Void

    package init(
        _ name: String, _ standard: String, _ summary: String, accepted: String, effect: SettingDescription.Effect,
        read: @escaping (Configuration) -> String,
        apply: @escaping (inout Configuration, String) throws(ConfigurationValueError) -> Void
    ) {
        self.name = name
        self.standard = standard
        self.summary = summary
        self.accepted = accepted
        self.effect = effect
        self.read = read
        self.apply = apply
    }
}

/// The values that programs on the bus may set, where the configuration file accepts more.
package struct RuntimeForm: Sendable {
    package let accepted: String
    package let isAccepted: @Sendable (String) -> Bool
}

extension ConfigurationKey {
    /// The values accepted at run time, in words for people.
    package var acceptedAtRuntime: String { runtimeForm?.accepted ?? accepted }

    /// Refuses values that only the file may give; the file's own value is accepted.
    package func checkAtRuntime(_ value: String, _ file: Configuration) throws(ConfigurationValueError) {
        guard let runtimeForm, value != read(file), !runtimeForm.isAccepted(value) else { return }
        throw ConfigurationValueError(accepted: runtimeForm.accepted)
    }

    /// A copy that accepts fewer values at run time than in the file.
    package func atRuntime(_ accepted: String, _ isAccepted: @escaping @Sendable (String) -> Bool) -> ConfigurationKey {
        var key = self
        key.runtimeForm = RuntimeForm(accepted: accepted, isAccepted: isAccepted)
        return key
    }

    /// A copy that can be changed at run time only under a condition.
    package func only(_ condition: Condition) -> ConfigurationKey {
        var key = self
        key.condition = condition
        return key
    }
}

/// The sections of the configuration file.
package enum ConfigurationSection: Equatable {
    case daemon, routing, bluetooth, audio, calls, talk, ring, privacy, pairing, quirks, identity, hooks, buttons
    case device(LocalDevice)
    /// One headset; each may have a section, so these are not in `all`.
    case headset(BluetoothAddress)

    package init?(_ name: String) {
        switch name {
        case "daemon": self = .daemon
        case "routing": self = .routing
        case "bluetooth": self = .bluetooth
        case "audio": self = .audio
        case "calls": self = .calls
        case "talk": self = .talk
        case "privacy": self = .privacy
        case "pairing": self = .pairing
        case "ring": self = .ring
        case "quirks": self = .quirks
        case "identity": self = .identity
        case "hooks": self = .hooks
        case "buttons": self = .buttons
        default:
            let words = name.split(separator: " ")
            if words.count == 2, words[0] == "headset", let address = BluetoothAddress(words[1]) {
                self = .headset(address)
                return
            }
            guard words.count == 2, words[0] == "device", let kind = LocalDevice(rawValue: String(words[1])) else {
                return nil
            }
            self = .device(kind)
        }
    }

    /// All sections except those of single headsets.
    package static let all: [ConfigurationSection] =
        [
            .daemon, .routing, .bluetooth, .audio, .calls, .talk, .ring, .privacy, .pairing, .quirks, .identity, .hooks,
            .buttons,
        ]
        + LocalDevice.allCases.map { .device($0) }

    package static var names: String {
        all.map { "[\($0.name)]" }.joined(separator: ", ") + ", [headset AA:BB:CC:DD:EE:FF]"
    }

    package var name: String {
        switch self {
        case .daemon: "daemon"
        case .routing: "routing"
        case .bluetooth: "bluetooth"
        case .audio: "audio"
        case .calls: "calls"
        case .talk: "talk"
        case .privacy: "privacy"
        case .pairing: "pairing"
        case .ring: "ring"
        case .quirks: "quirks"
        case .identity: "identity"
        case .hooks: "hooks"
        case .buttons: "buttons"
        case .device(let kind): "device \(kind.rawValue)"
        case .headset(let address): "headset \(address)"
        }
    }

    package var keys: [ConfigurationKey] {
        switch self {
        case .daemon: Self.daemonKeys
        case .routing: Self.routingKeys
        case .bluetooth: Self.bluetoothKeys
        case .audio: Self.audioKeys
        case .calls: Self.callKeys
        case .talk: Self.talkKeys
        case .privacy: Self.privacyKeys
        case .pairing: Self.pairingKeys
        case .ring: Self.ringKeys
        case .quirks: Self.quirksKeys
        case .identity: Self.identityKeys
        case .hooks: Self.hookKeys
        case .buttons: Self.buttonKeys
        case .device(let kind): Self.deviceKeys(kind)
        case .headset(let address):
            Self.headsetVolumeKeys(address) + Self.headsetTalkKeys(address) + Self.headsetQuirkKeys(address)
        }
    }

    /// The key with this name, or with a name from an earlier version.
    package func key(_ name: some StringProtocol) -> ConfigurationKey? {
        let keys = keys
        if let key = keys.first(where: { $0.name == name }) { return key }
        guard let current = UnitSpelling.current(of: name) else { return nil }
        return keys.first { $0.name == current }
    }

    /// Prefix of the names of the section's settings: `routing`, `device.earpiece`.
    package var settingPrefix: String {
        switch self {
        case .daemon, .routing, .bluetooth, .audio, .calls, .talk, .ring, .privacy, .pairing, .quirks, .identity,
            .hooks, .buttons:
            name
        case .device(let kind): "device.\(kind.rawValue)"
        case .headset(let address): "headset.\(address)"
        }
    }

    private static var daemonKeys: [ConfigurationKey] {
        let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
        return [
            ConfigurationKey(
                "logLevel", "info", levels, accepted: levels, effect: .now,
                read: { $0.logLevel.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let level = Logger.Level(rawValue: value) else {
                        throw ConfigurationValueError(accepted: levels)
                    }
                    configuration.logLevel = level
                }),
            ConfigurationKey(
                "stateDirectory", "/var/lib/btcall", "directory of the preferences set at run time",
                accepted: "an absolute path", effect: .restart, read: { $0.stateDirectory ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard value.hasPrefix("/") else { throw ConfigurationValueError(accepted: "an absolute path") }
                    configuration.stateDirectory = value
                }),
            boolean(
                "autostart", "yes", "register profiles and start the policy when the daemon starts", .restart,
                \.autostart),
            boolean(
                "incidents", "yes",
                "keep recordings of routing failures in stateDirectory/incidents, for btcall-lab replay",
                .restart,
                \.incidents),
        ]
    }

    private static var routingKeys: [ConfigurationKey] {
        RoutingKey.allCases.map { key in
            let made = ConfigurationKey(
                key.rawValue, RoutingConfiguration.defaultValue(of: key), key.documentation,
                accepted: key.type.accepted, effect: effect(of: key), read: { $0.routing.value(of: key) },
                apply: { configuration, value throws(ConfigurationValueError) in
                    do throws(RoutingConfigurationError) {
                        try configuration.routing.set(key: key.rawValue, value: value)
                    } catch {
                        throw ConfigurationValueError(accepted: key.type.accepted)
                    }
                })
            guard key == .systemDevice else { return made }
            let accepted = LocalDevice.allCases.map(\.rawValue).joined(separator: ", ")
            return made.atRuntime(accepted) { LocalDevice(rawValue: $0) != nil }
        }
    }

    /// The policy applies a new configuration at once; a running attempt keeps its timeout.
    private static func effect(of key: RoutingKey) -> SettingDescription.Effect {
        switch key {
        case .openTimeoutMilliseconds, .reopenPauseMilliseconds: .reopen
        case .exclude, .headsetOrder, .newHeadset, .jackGesture, .jackMasksEarpiece, .microphoneEnabled,
            .allowBluetoothA2DP, .inbandRing, .ringLocal, .manualAudio, .manualRendering, .releaseOnHold, .systemDevice,
            .settleBluetoothMilliseconds, .settleMaxMilliseconds, .flapWindowMilliseconds, .jackDebounceMilliseconds,
            .openAttempts, .retryBaseMilliseconds,
            .penaltyBaseMilliseconds, .penaltyMaxMilliseconds, .startGraceMilliseconds, .reopenBridgeMilliseconds,
            .minDwellMilliseconds, .gapResetMilliseconds, .transferGuardMilliseconds,
            .silentLimitMilliseconds, .silentResumeMilliseconds, .silentCloseMilliseconds, .mediaRestoreMilliseconds:
            .now
        }
    }

    private static var bluetoothKeys: [ConfigurationKey] {
        let codecs =
            LC3Codec.isAvailable ? "a list of lc3-swb, msbc, cvsd" : "a list of msbc, cvsd (\(LC3Codec.howToBuild))"
        let name = "1 to 16 bytes without control characters, quotation marks and semicolons"
        return [
            ConfigurationKey(
                "codecs", "msbc, cvsd", "codecs offered to headsets, best first", accepted: codecs, effect: .reopen,
                read: { $0.codecs.map { $0.description.lowercased() }.joined(separator: ", ") },
                apply: { configuration, value throws(ConfigurationValueError) in
                    var found: [VoiceCodec] = []
                    for word in value.split(whereSeparator: { $0 == "," || $0 == " " }) {
                        let codec: VoiceCodec
                        switch word.lowercased() {
                        case "msbc": codec = .mSBC
                        case "cvsd": codec = .cvsd
                        case "lc3-swb" where LC3Codec.isAvailable: codec = .lc3SWB
                        default: throw ConfigurationValueError(accepted: codecs)
                        }
                        if !found.contains(codec) { found.append(codec) }
                    }
                    guard !found.isEmpty else { throw ConfigurationValueError(accepted: codecs) }
                    configuration.codecs = found.contains(.cvsd) ? found : found + [.cvsd]
                }),
            boolean("callDuration", "no", "offer the call duration of HFP 1.10", .reopen, \.callDuration),
            ConfigurationKey(
                "operatorName", "btcall", "the network's name on headsets with a display", accepted: name,
                effect: .now, read: { $0.operatorName },
                apply: { configuration, value throws(ConfigurationValueError) in
                    let isPlain = value.utf8.allSatisfy {
                        $0 >= 0x20 && $0 != 0x7F && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: ";")
                    }
                    guard (1...16).contains(value.utf8.count), isPlain else {
                        throw ConfigurationValueError(accepted: name)
                    }
                    configuration.operatorName = value
                }),
        ] + linkKeys + volumeAndBatteryKeys + musicKeys + reconnectKeys
    }

    private static var callQueueKey: ConfigurationKey {
        let accepted = "auto or a whole number from 2 to 6"
        return ConfigurationKey(
            "callQueueBlocks", "auto",
            "blocks of 10 ms queued for a telephony application: auto (as few as its answers allow), or always so many",
            accepted: accepted, effect: .nextCall,
            read: { configuration in configuration.callQueueBlocks.map { String($0) } ?? "auto" },
            apply: { configuration, value throws(ConfigurationValueError) in
                if value == "auto" {
                    configuration.callQueueBlocks = nil
                    return
                }
                guard let blocks = Int(value), (2...6).contains(blocks) else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.callQueueBlocks = blocks
            })
    }

    private static var audioKeys: [ConfigurationKey] {
        [
            callQueueKey,
            integer(
                "periodMilliseconds", "10", "period requested from sound cards", 5...40, .reopen,
                \.periodMilliseconds),
            boolean(
                "mixWithOthers", "no",
                "open hw: devices through dmix and dsnoop, so that other programs can use them as well",
                .reopen, \.mixesWithOthers),
            boolean(
                "warmStandby", "yes",
                "while a headset carries the call, keep the device that would take over open and silent",
                .now, \.warmStandby),
        ] + voiceKeys + captureKeys + pcmKeys
    }

    private static func deviceKeys(_ kind: LocalDevice) -> [ConfigurationKey] {
        func key(_ name: String, _ summary: String, _ path: WritableKeyPath<Configuration.SoundCard, String?>)
            -> ConfigurationKey
        {
            let accepted = "a name; leave the key out for none"
            return ConfigurationKey(
                name, "", summary, accepted: accepted, effect: .restart,
                read: { $0.localDevices[kind]?[keyPath: path] ?? "" },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard !value.isEmpty else { throw ConfigurationValueError(accepted: accepted) }
                    configuration.localDevices[kind, default: Configuration.SoundCard()][keyPath: path] = value
                })
        }
        var keys = [
            key("playback", "ALSA device for what the person hears, as in `aplay -D`", \.playback),
            key("capture", "ALSA device of the microphone, as in `arecord -D`", \.capture),
            key("mixer", "simple mixer control of the playback volume, as in `amixer scontrols`", \.mixer),
            volumeKey(kind),
        ]
        switch kind {
        case .speakerphone: break
        case .wiredHeadset: keys.append(jackKey)
        case .earpiece: keys.append(hookKey)
        }
        return keys
    }

    private static func volumeKey(_ kind: LocalDevice) -> ConfigurationKey {
        let accepted = "a whole number from 0 to 100; leave the key out for the level that is found at the start"
        return ConfigurationKey(
            "volume", "", "0 to 100: level of mixer during calls; absent: the level found at the start",
            accepted: accepted, effect: .restart, read: { $0.localDevices[kind]?.volume.map { String($0) } ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let volume = Int(value), (0...100).contains(volume) else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.localDevices[kind, default: Configuration.SoundCard()].volume = volume
            })
    }

    private static var jackKey: ConfigurationKey {
        ConfigurationKey(
            "jack", "",
            "Headphone Jack, Headset Mic Jack: control elements as in `amixer controls`; evdev:NAME; none; absent: detected",
            accepted: JackSpecification.accepted, effect: .restart,
            read: { $0.localDevices[.wiredHeadset]?.jack?.description ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let jack = JackSpecification(value) else {
                    throw ConfigurationValueError(accepted: JackSpecification.accepted)
                }
                configuration.localDevices[.wiredHeadset, default: Configuration.SoundCard()].jack = jack
            })
    }

    private static var hookKey: ConfigurationKey {
        ConfigurationKey(
            "hook", "", "hook switch of a handset: evdev:NAME:KEY_PHONE or gpio:gpiochip0:17, with ! in front inverted",
            accepted: HookSpecification.accepted, effect: .restart,
            read: { $0.localDevices[.earpiece]?.hook?.description ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let hook = HookSpecification(value) else {
                    throw ConfigurationValueError(accepted: HookSpecification.accepted)
                }
                configuration.localDevices[.earpiece, default: Configuration.SoundCard()].hook = hook
            })
    }

    package static func boolean(
        _ name: String, _ standard: String, _ summary: String, _ effect: SettingDescription.Effect,
        _ path: WritableKeyPath<Configuration, Bool>
    ) -> ConfigurationKey {
        ConfigurationKey(
            name, standard, summary, accepted: "yes or no", effect: effect,
            read: { $0[keyPath: path] ? "yes" : "no" },
            apply: { configuration, value throws(ConfigurationValueError) in
                switch value.lowercased() {
                case "yes", "true", "on", "1": configuration[keyPath: path] = true
                case "no", "false", "off", "0": configuration[keyPath: path] = false
                default: throw ConfigurationValueError(accepted: "yes or no")
                }
            })
    }

    package static func integer(
        _ name: String, _ standard: String, _ summary: String, _ range: ClosedRange<Int>,
        _ effect: SettingDescription.Effect, _ path: WritableKeyPath<Configuration, Int>
    ) -> ConfigurationKey {
        let accepted = "a whole number from \(range.lowerBound) to \(range.upperBound)"
        return ConfigurationKey(
            name, standard, summary, accepted: accepted, effect: effect, read: { String($0[keyPath: path]) },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let number = Int(value), range.contains(number) else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration[keyPath: path] = number
            })
    }
}
