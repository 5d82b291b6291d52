package import BluetoothTypes

/// Settings of the policy, with their defaults (docs/reference/Keys.md).
///
/// Names are the configuration keys without their unit; all durations are zero or more.
package struct RoutingConfiguration: Hashable, Sendable {
    package enum NewHeadset: String, Hashable, Sendable, CaseIterable {
        case stay, take
    }

    package enum JackGesture: String, Hashable, Sendable, CaseIterable {
        case off, midCall, latched
    }

    package var exclude: [AudioDevice] = []
    package var headsetOrder: [BluetoothAddress] = []
    package var newHeadset = NewHeadset.stay
    package var jackGesture = JackGesture.midCall
    package var jackMasksEarpiece = true
    package var microphoneEnabled = true
    package var allowBluetoothA2DP = false
    package var inbandRing = true
    package var ringLocal = true
    package var manualAudio = false
    package var manualRendering = false
    package var releaseOnHold = false
    package var systemDevice = AudioDevice.speakerphone
    package var settleBluetooth = Duration.milliseconds(1000)
    package var settleMax = Duration.milliseconds(30_000)
    package var flapWindow = Duration.milliseconds(30_000)
    package var jackDebounce = Duration.milliseconds(200)
    package var openTimeout = Duration.milliseconds(5000)
    package var openAttempts = 3
    package var retryBase = Duration.milliseconds(500)
    package var penaltyBase = Duration.milliseconds(15_000)
    package var penaltyMax = Duration.milliseconds(120_000)
    package var startGrace = Duration.milliseconds(1500)
    package var reopenBridge = Duration.milliseconds(500)
    /// Observed by the owner of the links, not by the policy.
    package var reopenPause = Duration.milliseconds(300)
    package var minDwell = Duration.milliseconds(2000)
    package var gapReset = Duration.milliseconds(500)
    package var transferGuard = Duration.milliseconds(1000)
    /// Zero is adaptive. Observed by the owner of the links, not by the policy.
    package var silentLimit = Duration.zero
    package var silentResume = Duration.milliseconds(500)
    package var silentClose = Duration.milliseconds(1000)
    package var mediaRestore = Duration.milliseconds(2000)

    package init() {}
}

/// An invalid setting. Both cases are the user's mistake: show the text, change nothing.
package enum RoutingConfigurationError: Error, Hashable, Sendable {
    case unknownKey(String)
    case invalidValue(key: RoutingKey, value: String)
}

extension RoutingConfigurationError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unknownKey(let key):
            "unknown key '\(key)'; accepted: \(RoutingKey.allCases.map(\.rawValue).joined(separator: ", "))"
        case .invalidValue(let key, let value):
            "\(key.rawValue): '\(value)' is not accepted; accepted: \(key.type.accepted)"
        }
    }
}
