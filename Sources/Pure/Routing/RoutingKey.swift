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
            case .boolean: "true or false"
            case .milliseconds: "a whole number from 0 to 3600000"
            case .count: "a whole number from 1 to 100"
            case .device: "speakerphone, wiredHeadset, earpiece, bluetooth, bluetooth:ADDRESS or none"
            case .deviceList:
                "a list of speakerphone, wiredHeadset, earpiece, bluetooth, bluetooth:ADDRESS, separated by commas"
            case .addressList: "a list of AA:BB:CC:DD:EE:FF, separated by commas"
            case .words(let words): words.joined(separator: ", ")
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

    /// One line for the example file, without a capital and a full stop, like those of other sections.
    package var documentation: String {
        switch self {
        case .exclude: "devices that never carry a call"
        case .headsetOrder: "ranking of headsets; the first is the best, headsets not listed come after"
        case .newHeadset: "whether a headset that connects during a call takes it from another headset"
        case .jackGesture:
            "a plugged jack outranks: off: nothing; midCall: the fallback, for this call; latched: the preferred device"
        case .jackMasksEarpiece: "hide the earpiece while something is plugged in"
        case .microphoneEnabled: "calls use a microphone; without one headsets are used over A2DP only"
        case .allowBluetoothA2DP: "use headsets with A2DP over A2DP, with the board's microphone"
        case .inbandRing: "play the ring tone in a headset that supports it"
        case .ringLocal: "ring on the board, also while a headset is connected"
        case .manualAudio: "give calls audio only while a program holds an active session (Session1)"
        case .manualRendering: "open no device; a program exchanges the audio of calls (Audio1.OpenManual)"
        case .releaseOnHold: "close the path while all calls are held"
        case .systemDevice: "the device of a call while routing is stopped"
        case .settleBluetoothMilliseconds:
            "how long a headset must be stable before it takes a running call; doubled per loss"
        case .settleMaxMilliseconds: "longest time that settleBluetoothMilliseconds is doubled to"
        case .flapWindowMilliseconds: "how long a loss is remembered"
        case .jackDebounceMilliseconds: "time without a change before a new state of the jack counts"
        case .openTimeoutMilliseconds: "how long one attempt to open a headset's link may take"
        case .openAttempts: "attempts to open a headset's link before the pause of penaltyBaseMilliseconds"
        case .retryBaseMilliseconds: "pause after the first failed attempt; doubled after each further one"
        case .penaltyBaseMilliseconds: "pause after the last failed attempt; doubled per round"
        case .penaltyMaxMilliseconds: "longest time that penaltyBaseMilliseconds is doubled to"
        case .startGraceMilliseconds: "time without a path before a local device stands in for a headset"
        case .reopenBridgeMilliseconds: "the same while btcalld reopens a lost link"
        case .reopenPauseMilliseconds: "shortest time between closing and opening the link of the same headset"
        case .minDwellMilliseconds: "how long a headset that took the call keeps it against other headsets"
        case .gapResetMilliseconds: "a path shorter than this does not restart the startGraceMilliseconds clock"
        case .transferGuardMilliseconds:
            "a link that the headset closes sooner than this has failed; later, the person moved the audio away"
        case .silentLimitMilliseconds: "a link on which nothing arrives for this long is silent; 0 adapts to the link"
        case .silentResumeMilliseconds:
            "how long a link must carry packets again before it is used; doubled per silence"
        case .silentCloseMilliseconds: "how long a silent link is kept"
        case .mediaRestoreMilliseconds: "delay before a headset gets its music back after the last call"
        }
    }
}
