package import BluetoothTypes

/// Progress of a call in one word, as call kits name it: its state, its outcome and whether a device carries its audio.
package enum CallStatusWord: String, Hashable, Sendable, CaseIterable {
    case setup, alerting, ringing, mediaPending, inCall, timedOut, busy, notFound, error, ended

    /// - Parameters:
    ///   - isCarried: whether a device carries its audio.
    ///   - audio: directions of its audio; a call without audio waits for no device.
    package init(_ state: CallDescription.State, isCarried: Bool, audio: MediaDirection) {
        switch state {
        case .dialing: self = .setup
        case .alerting: self = .alerting
        case .ringing, .waiting: self = .ringing
        case .active: self = isCarried || audio == .off ? .inCall : .mediaPending
        case .held: self = .inCall
        case .ended: self = .ended
        }
    }

    /// The outcome of a call.
    ///
    /// - Parameter reason: a reason of `Call1.StateChanged`.
    package init(endedBecause reason: String) {
        switch reason {
        case "timedOut": self = .timedOut
        case "busy": self = .busy
        case "notFound": self = .notFound
        case "error", "providerGone": self = .error
        default: self = .ended
        }
    }
}
