package import ControlLoop
package import Telephony

/// An incoming call that its application reported and btcalld refused: it had no object and never rang.
package struct RefusedCall: Sendable {
    package enum Reason: String, Sendable {
        /// Do not disturb is on.
        case filtered
        /// Another call is up, and second calls are rejected.
        case busy
    }

    package let details: CallDetails
    /// The name of the application that owns it.
    package let provider: String
    package let reason: Reason
    package let at = WallClock.now

    package init(_ details: CallDetails, provider: String, _ reason: Reason) {
        self.details = details
        self.provider = provider
        self.reason = reason
    }
}
