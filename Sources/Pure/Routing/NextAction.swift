/// The policy's next action if no other event occurs, and its time (docs/inside/Routing.md §13).
package struct NextAction: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The headset has settled, or its pause, its limit or the current one's dwell ends: its link is requested.
        case mayTakeCall
        /// A further attempt to open the link, counted from 1.
        case attempt(Int, of: Int)
        /// The present attempt times out.
        case timeOut(attempt: Int, of: Int)
        /// The device carries the call until the awaited headset does.
        case standIn
        /// The device carries the call.
        case takeCall
        /// The silent link is closed.
        case closeSilentLink
        /// The headset gets its music back.
        case restoreMedia
        /// The jack has been quiet for long enough.
        case believeJack(JackState)
    }

    package let kind: Kind
    /// The device concerned; nil for the jack.
    package let device: AudioDevice?
    /// Time until then; nil when it depends on the closing of another link.
    package let remaining: Duration?

    /// One stable word per kind.
    package var word: String {
        switch kind {
        case .mayTakeCall: "mayTakeCall"
        case .attempt: "attempt"
        case .timeOut: "timeOut"
        case .standIn: "standIn"
        case .takeCall: "takeCall"
        case .closeSilentLink: "closeSilentLink"
        case .restoreMedia: "restoreMedia"
        case .believeJack: "believeJack"
        }
    }

    /// `bluetooth:AA:BB:CC:DD:EE:FF may take the call in 0.6 s`
    package var text: String {
        let device = device?.description ?? ""
        let what =
            switch kind {
            case .mayTakeCall: "\(device) may take the call"
            case .attempt(let attempt, let attempts): "attempt \(attempt) of \(attempts) for \(device)"
            case .timeOut(let attempt, let attempts): "attempt \(attempt) of \(attempts) for \(device) times out"
            case .standIn: "\(device) stands in"
            case .takeCall: "\(device) takes the call"
            case .closeSilentLink: "the silent link of \(device) is closed"
            case .restoreMedia: "\(device) gets its music back"
            case .believeJack(.empty): "the jack is believed to be empty"
            case .believeJack(.headset): "the jack is believed to hold a headset"
            case .believeJack(.headphones): "the jack is believed to hold headphones"
            }
        return what + (remaining.map { " in \(ExplanationText.remaining($0))" } ?? " when another link is closed")
    }
}
