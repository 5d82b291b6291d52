package import BTCallAPI
package import BluetoothTypes
import ControlLoop
package import Telephony

/// What a report, a request or an answer says that `CallTable` does not decide by: goes along with the actions that come
/// of it.
package struct CallContext: Sendable {
    /// Of the call that appears; nil: as the configuration has it.
    package var media: MediaState?
    /// What a program knows of the other party of the call that appears.
    package var contact: ContactDescription?
    /// Since when the call that becomes active has been so; nil: from now on.
    package var answeredSince: Instant?
    /// Why the provider did not do what it was asked.
    package var refusal: String

    package init(
        media: MediaState? = nil, contact: ContactDescription? = nil, answeredSince: Instant? = nil,
        refusal: String = ""
    ) {
        self.media = media
        self.contact = contact
        self.answeredSince = answeredSince
        self.refusal = refusal
    }
}

/// How a request ended, with the reason in words where a provider gave one.
package struct CallRequestResult: Sendable {
    package let outcome: CallRequestOutcome
    package let refusal: String

    package init(outcome: CallRequestOutcome, refusal: String = "") {
        self.outcome = outcome
        self.refusal = refusal
    }
}

/// A request that the table has not completed yet.
package struct OpenRequest {
    /// Which ways audio and video are to go once the call is answered; nil: as the configuration says.
    package let answerMedia: MediaState?
    /// Called once.
    package let completion: @ControlPlane (CallRequestResult) -> Void

    package init(answerMedia: MediaState? = nil, completion: @escaping @ControlPlane (CallRequestResult) -> Void) {
        self.answerMedia = answerMedia
        self.completion = completion
    }
}
