package import TalkWords

/// `[talk]`: push to talk.
package struct TalkConfiguration: Equatable, Sendable {
    /// When the voice link to a headset is open in a call with a talk mode.
    package enum Link: String, CaseIterable, Sendable {
        /// During the whole call: the first word is not delayed.
        case keep
        /// While somebody talks: it saves the headset's battery, and the first word waits for the link.
        case press
    }

    /// For calls whose applications do not say.
    package var mode = TalkMode.off
    /// How long the far end still hears the person after the release, so that no word loses its end.
    package var tailMilliseconds = 200
    /// After this time the person is not heard any more, because the key is stuck; 0: never.
    package var timeoutSeconds = 60
    /// A key of the board; nil: none.
    package var key: HookSpecification?
    /// Plays tones when somebody may talk, may not, or has been cut off.
    package var playsTones = true
    /// For headsets without a value of their own.
    package var link = Link.keep

    package init() {}

    package var tail: Duration { .milliseconds(tailMilliseconds) }
    package var timeout: Duration? { timeoutSeconds == 0 ? nil : .seconds(timeoutSeconds) }
}
