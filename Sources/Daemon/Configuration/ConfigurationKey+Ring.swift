import ALSA
import BTCallAPI
import Routing

/// `[ring]`: the ringer, the network's tones, and the device for announcements.
extension ConfigurationSection {
    /// Accepted lengths of one part of a cadence in milliseconds.
    private static let partLengths = 10...60_000

    package static var ringKeys: [ConfigurationKey] {
        [
            deviceKey, ringPlaybackKey, pageDeviceKey, fileKey, cadenceKey,
            integer(
                "volume", "70", "0 to 100: ring volume; 100 plays the file unchanged", 0...100, .nextCall,
                \.ring.volume),
            tonesKey,
            ConfigurationKey(
                "ringback", "auto",
                "ringback tone while the other party rings: auto (until its side sends audio), yes (until answered), no",
                accepted: "auto, yes or no", effect: .nextCall, read: { $0.ring.ringback.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let ringback = RingConfiguration.Ringback(rawValue: value) else {
                        throw ConfigurationValueError(accepted: "auto, yes or no")
                    }
                    configuration.ring.ringback = ringback
                }),
        ]
    }

    private static var deviceKey: ConfigurationKey {
        let accepted = "speakerphone, earpiece, wiredHeadset, bluetooth, bluetooth:ADDRESS or none"
        return ConfigurationKey(
            "device", "speakerphone",
            "where the board rings: speakerphone (absent: earpiece), earpiece, wiredHeadset, bluetooth (A2DP); none: nowhere",
            accepted: accepted, effect: .nextCall,
            read: { $0.ring.headset?.description ?? $0.ring.device?.rawValue ?? "none" },
            apply: { configuration, value throws(ConfigurationValueError) in
                let headset = OutputDevice(headset: value)
                guard value == "none" || LocalDevice(rawValue: value) != nil || headset != nil else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.ring.device = LocalDevice(rawValue: value)
                configuration.ring.headset = headset
            })
    }

    private static var ringPlaybackKey: ConfigurationKey {
        ConfigurationKey(
            "playback", "", "an ALSA device to ring on instead, as in `aplay -D`", accepted: "a name; empty for none",
            effect: .nextCall, read: { $0.ring.playback ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                configuration.ring.playback = value.isEmpty ? nil : value
            }
        ).atRuntime("\(PCMName.accepted); other names only in the configuration file; empty for none") {
            $0.isEmpty || PCMName.isAccepted($0)
        }
    }

    private static var pageDeviceKey: ConfigurationKey {
        let accepted =
            "speakerphone, earpiece, wiredHeadset, bluetooth or bluetooth:ADDRESS; empty for the device that rings"
        return ConfigurationKey(
            "pageDevice", "", "device for announcements without a call; absent: the ringing device", accepted: accepted,
            effect: .nextCall,
            read: { $0.ring.pageHeadset?.description ?? $0.ring.pageDevice?.rawValue ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                let headset = OutputDevice(headset: value)
                guard value.isEmpty || LocalDevice(rawValue: value) != nil || headset != nil else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.ring.pageDevice = LocalDevice(rawValue: value)
                configuration.ring.pageHeadset = headset
            })
    }

    private static var fileKey: ConfigurationKey {
        let accepted = "an absolute path; empty for the built-in tone"
        return ConfigurationKey(
            "file", "", "a WAV file to ring with, repeated: 16 bit, one or two channels, 8000 to 48000 Hz",
            accepted: accepted, effect: .nextCall, read: { $0.ring.file ?? "" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value.isEmpty || value.hasPrefix("/") else { throw ConfigurationValueError(accepted: accepted) }
                configuration.ring.file = value.isEmpty ? nil : value
            }
        ).atRuntime(keptPath, isKeptPath)
    }

    /// A path that fits into a line of `preferences.conf` and is read back unchanged.
    package static let keptPath =
        "an absolute path of at most 150 bytes, without spaces at its end and without a semicolon after a space; empty for none"

    @Sendable package static func isKeptPath(_ value: String) -> Bool {
        guard !value.isEmpty else { return true }
        return value.hasPrefix("/") && value.utf8.count <= 150 && value.last != " " && !mentionsComment(value)
    }

    /// Whether the reader of the file would take a part of the value for a comment.
    private static func mentionsComment(_ value: String) -> Bool {
        zip(value.utf8, value.utf8.dropFirst()).contains { $0 == UInt8(ascii: " ") && $1 == UInt8(ascii: ";") }
    }

    private static var cadenceKey: ConfigurationKey {
        let accepted =
            "milliseconds on and off in turn, 10 to 60000 each, at most 8 of both: 400on 200off 400on 2000off"
        return ConfigurationKey(
            "cadence", "1000on 4000off", "cadence of the built-in tone in ms, repeated: 400on 200off 400on 2000off",
            accepted: accepted, effect: .nextCall, read: { text($0.ring.cadence) },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let cadence = cadence(value) else { throw ConfigurationValueError(accepted: accepted) }
                configuration.ring.cadence = cadence
            })
    }

    private static var tonesKey: ConfigurationKey {
        let words = (TonePlan.allCases.map(\.rawValue) + ["none"]).joined(separator: ", ")
        return ConfigurationKey(
            "tones", "eu", "tone plan of calls (ringback, busy, congestion, call waiting): \(words)",
            accepted: words, effect: .nextCall, read: { $0.ring.tones?.rawValue ?? "none" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value == "none" || TonePlan(rawValue: value) != nil else {
                    throw ConfigurationValueError(accepted: words)
                }
                configuration.ring.tones = TonePlan(rawValue: value)
            })
    }

    private static func text(_ cadence: [Int]) -> String {
        cadence.enumerated().map { "\($1)\($0 % 2 == 0 ? "on" : "off")" }.joined(separator: " ")
    }

    /// Nil for an invalid list.
    private static func cadence(_ text: String) -> [Int]? {
        var cadence: [Int] = []
        for word in text.split(separator: " ") {
            let end = cadence.count % 2 == 0 ? "on" : "off"
            guard word.hasSuffix(end), let length = Int(word.dropLast(end.count)), partLengths.contains(length) else {
                return nil
            }
            cadence.append(length)
        }
        return cadence.count % 2 == 0 && (2...16).contains(cadence.count) ? cadence : nil
    }
}
