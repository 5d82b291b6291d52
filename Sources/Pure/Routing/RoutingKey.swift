/// Keys of the configuration's routing section, verbatim, in the order of the example file.
package enum RoutingKey: String, Hashable, Sendable, CaseIterable {
    case exclude, headsetOrder, newHeadset
    case jackGesture, jackMasksEarpiece
    case microphoneEnabled, allowBluetoothA2DP
    case inbandRing, ringLocal
    case manualAudio, manualRendering, releaseOnHold, systemDevice
    case settleBluetoothMilliseconds, settleMaxMilliseconds, flapWindowMilliseconds, jackDebounceMilliseconds
    case openTimeoutMilliseconds, openAttempts, retryBaseMilliseconds, penaltyBaseMilliseconds, penaltyMaxMilliseconds
    case startGraceMilliseconds, reopenBridgeMilliseconds, reopenPauseMilliseconds, minDwellMilliseconds,
        gapResetMilliseconds
    case transferGuardMilliseconds, silentLimitMilliseconds, silentResumeMilliseconds, silentCloseMilliseconds,
        mediaRestoreMilliseconds

    /// Accepted form of a key's value.
    package enum ValueType: Hashable, Sendable {
        case boolean, milliseconds, count, device, deviceList, addressList
        case words([String])

        /// For messages and the example file.
        package var accepted: String {
            switch self {
            case .boolean: "true | false"
            case .milliseconds: "0 to 3600000 (milliseconds)"
            case .count: "1 to 100"
            case .device: AudioDevice.acceptedWords
            case .deviceList:
                "a list of speakerphone | wiredHeadset | earpiece | bluetooth | bluetooth:ADDRESS, separated by commas"
            case .addressList: "a list of AA:BB:CC:DD:EE:FF, separated by commas"
            case .words(let words): words.joined(separator: " | ")
            }
        }
    }

    package var type: ValueType {
        switch self {
        case .exclude: .deviceList
        case .headsetOrder: .addressList
        case .newHeadset: .words(RoutingConfiguration.NewHeadset.allCases.map(\.rawValue))
        case .jackGesture: .words(RoutingConfiguration.JackGesture.allCases.map(\.rawValue))
        case .jackMasksEarpiece, .microphoneEnabled, .allowBluetoothA2DP, .inbandRing, .ringLocal, .manualAudio,
            .manualRendering, .releaseOnHold:
            .boolean
        case .systemDevice: .device
        case .openAttempts: .count
        case .settleBluetoothMilliseconds, .settleMaxMilliseconds, .flapWindowMilliseconds, .jackDebounceMilliseconds,
            .openTimeoutMilliseconds, .retryBaseMilliseconds,
            .penaltyBaseMilliseconds, .penaltyMaxMilliseconds, .startGraceMilliseconds, .reopenBridgeMilliseconds,
            .reopenPauseMilliseconds, .minDwellMilliseconds, .gapResetMilliseconds,
            .transferGuardMilliseconds, .silentLimitMilliseconds, .silentResumeMilliseconds, .silentCloseMilliseconds,
            .mediaRestoreMilliseconds:
            .milliseconds
        }
    }

    /// One line for the example file.
    package var documentation: String {
        switch self {
        case .exclude: "Devices that never carry a call."
        case .headsetOrder: "Ranking of headsets; the first is the best, headsets not listed come after."
        case .newHeadset: "Whether a headset that connects during a call takes it from another headset."
        case .jackGesture:
            "A plugged jack outranks: off: nothing; midCall: the default, for this call; latched: the preferred device."
        case .jackMasksEarpiece: "Hide the earpiece while something is plugged in."
        case .microphoneEnabled: "Calls use a microphone; without one headsets are used over A2DP only."
        case .allowBluetoothA2DP: "Use headsets with A2DP over A2DP, with the board's microphone."
        case .inbandRing: "Play the ring tone in a headset that supports it."
        case .ringLocal: "Ring on the board, also while a headset is connected."
        case .manualAudio: "Give calls audio only while a program holds an active session (Session1)."
        case .manualRendering: "Open no device; a program exchanges the audio of calls (Audio1.OpenManual)."
        case .releaseOnHold: "Close the path while all calls are held."
        case .systemDevice: "The device of a call while routing is stopped."
        case .settleBluetoothMilliseconds:
            "How long a headset must be stable before it takes a running call; doubled per loss."
        case .settleMaxMilliseconds: "Longest time that settleBluetoothMilliseconds is doubled to."
        case .flapWindowMilliseconds: "How long a loss is remembered."
        case .jackDebounceMilliseconds: "Time without a change before a new state of the jack counts."
        case .openTimeoutMilliseconds: "How long one attempt to open a headset's link may take."
        case .openAttempts: "Attempts to open a headset's link before the pause of penaltyBaseMilliseconds."
        case .retryBaseMilliseconds: "Pause after the first failed attempt; doubled after each further one."
        case .penaltyBaseMilliseconds: "Pause after the last failed attempt; doubled per round."
        case .penaltyMaxMilliseconds: "Longest time that penaltyBaseMilliseconds is doubled to."
        case .startGraceMilliseconds: "Time without a path before a local device stands in for a headset."
        case .reopenBridgeMilliseconds: "The same while btcalld reopens a lost link."
        case .reopenPauseMilliseconds: "Shortest time between closing and opening the link of the same headset."
        case .minDwellMilliseconds: "How long a headset that took the call keeps it against other headsets."
        case .gapResetMilliseconds: "A path shorter than this does not restart the startGraceMilliseconds clock."
        case .transferGuardMilliseconds:
            "A link that the headset closes sooner than this has failed; later, the person moved the audio away."
        case .silentLimitMilliseconds: "A link without packets for this long is silent; 0 adapts to the link."
        case .silentResumeMilliseconds:
            "How long a link must carry packets again before it is used; doubled per silence."
        case .silentCloseMilliseconds: "How long a silent link is kept."
        case .mediaRestoreMilliseconds: "Delay before a headset gets its music back after the last call."
        }
    }
}
