import BTCallAPI
import BluetoothTypes
import HandsFree

// Links to headsets, and what headsets see of calls.
extension ConfigurationSection {
    package static var linkKeys: [ConfigurationKey] {
        let calls = "always, voip or never"
        let routings = "leave or host"
        return [
            boolean(
                "headsetProfile", "no", "serve headsets that have only the old Headset Profile (HSP)", .now,
                \.headsetProfile),
            ConfigurationKey(
                "virtualCall", "voip",
                "present a virtual call to headsets for non-call audio: voip (applications without call state), always, never",
                accepted: calls, effect: .reopen, read: { $0.virtualCall.configurationWord },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let found = VirtualCall.allCases.first(where: { $0.configurationWord == value.lowercased() })
                    else { throw ConfigurationValueError(accepted: calls) }
                    configuration.virtualCall = found
                }),
            integer(
                "audioDelayMilliseconds", "200",
                "shortest time from a headset's connection, or a call's answer, to its audio", 0...2000, .reopen,
                \.audioDelayMilliseconds),
            boolean("a2dp", "yes", "send audio without a microphone to headsets over A2DP", .now, \.a2dp),
            qualityKey, listenerKey,
            ConfigurationKey(
                "scoRouting", "leave",
                "host: make Broadcom and Cypress controllers send voice to the host instead of their PCM pins",
                accepted: routings, effect: .now, read: { $0.scoRouting.rawValue },
                apply: { configuration, value throws(ConfigurationValueError) in
                    guard let found = VoiceRoutingSetting(rawValue: value.lowercased()) else {
                        throw ConfigurationValueError(accepted: routings)
                    }
                    configuration.scoRouting = found
                }),
        ]
    }

    private static var qualityKey: ConfigurationKey {
        let words = SBCQuality.allCases.map(\.rawValue).joined(separator: " or ")
        return ConfigurationKey(
            "a2dpQuality", SBCQuality.standard.rawValue,
            "A2DP quality: standard, or xq for headsets with SBC XQ (twice the data)", accepted: words,
            effect: .reopen, read: { $0.a2dpQuality.rawValue },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard let quality = SBCQuality(rawValue: value.lowercased()) else {
                    throw ConfigurationValueError(accepted: words)
                }
                configuration.a2dpQuality = quality
            })
    }

    private static var listenerKey: ConfigurationKey {
        let accepted = "AA:BB:CC:DD:EE:FF, or none"
        return ConfigurationKey(
            "listener", "none", "a headset that plays both sides of calls on other devices, over A2DP",
            accepted: accepted, effect: .now, read: { $0.listener?.description ?? "none" },
            apply: { configuration, value throws(ConfigurationValueError) in
                guard value == "none" || BluetoothAddress(value) != nil else {
                    throw ConfigurationValueError(accepted: accepted)
                }
                configuration.listener = BluetoothAddress(value)
            })
    }
}

extension VirtualCall {
    /// The word for the kind of audio that gets a virtual call.
    package var configurationWord: String {
        switch self {
        case .never: "never"
        case .onRequest: "voip"
        case .withAudio: "always"
        }
    }
}
