package import BTCallAPI
package import BluetoothTypes
import ControlLoop
package import TalkWords
package import Telephony

/// Details of a report, a request or an answer that do not affect the decisions of `CallTable`; passed along with the
/// resulting actions.
package struct CallContext: Sendable {
    /// Media of the call that appears; nil: as configured.
    package var media: MediaState?
    /// Contact of the other party of the call that appears, if a program knows it.
    package var contact: ContactDescription?
    /// Kinds of device that the call that appears may use; nil for all.
    package var routes: [CallDescription.Route]?
    /// How the far end of the call that appears hears the person, as its application reported.
    package var talk: TalkMode?
    /// When the call that becomes active was answered; nil: now.
    package var answeredSince: Instant?
    /// Why the provider did not carry out the request.
    package var refusal: String

    package init(
        media: MediaState? = nil, contact: ContactDescription? = nil,
        routes: [CallDescription.Route]? = nil, talk: TalkMode? = nil, answeredSince: Instant? = nil,
        refusal: String = ""
    ) {
        self.media = media
        self.contact = contact
        self.routes = routes
        self.talk = talk
        self.answeredSince = answeredSince
        self.refusal = refusal
    }
}

/// The outcome of a request, with the provider's reason in words if it gave one.
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
    /// The media directions to use once the call is answered; nil: as configured.
    package let answerMedia: MediaState?
    /// Called once.
    package let completion: @ControlPlane (CallRequestResult) -> Void

    package init(answerMedia: MediaState? = nil, completion: @escaping @ControlPlane (CallRequestResult) -> Void) {
        self.answerMedia = answerMedia
        self.completion = completion
    }
}
