package import TalkWords

/// Tone for the wearer; the far end does not hear it.
package enum TalkTone: String, Hashable, Sendable, CaseIterable {
    /// The provider has granted the floor: talk now. Not played without a provider that is asked, because then the microphone
    /// opens with the press, and a tone would lie over the first word.
    case permit
    /// The provider has refused, withdrawn or not granted the floor in time.
    case refused
    /// The microphone has closed after a release.
    case over
    /// The microphone was closed, because the time to talk is over.
    case timedOut
}

/// Settings of one call's floor, from the configuration, its provider and the call.
package struct TalkSettings: Hashable, Sendable {
    package var mode = TalkMode.off
    /// The microphone stays open this long after the release. People let go with the last syllable; 200 ms keep the end of a
    /// word and the delay of the link (30 to 80 ms), and are not yet heard as a pause.
    package var tail = Duration.milliseconds(200)
    /// Longest time to talk, after which the microphone closes until the next press. A key that is jammed in a seat would keep
    /// the channel busy; radios ship with 60 s as their time-out timer, longer than any message and short enough to be noticed.
    package var limit = Duration.seconds(60)
    /// The provider is asked before the microphone opens (capability `talk`).
    package var asksPermission = false
    /// Time for the provider's answer, after which it counts as refused. Trunked radio grants the floor in 300 ms; after
    /// 500 ms without a tone people begin to talk.
    package var permissionWait = Duration.milliseconds(500)
    /// Longest press that latches, in mode latch. A deliberate tap takes 100 to 300 ms, the shortest word with its press and
    /// release more than 500 ms.
    package var latchPress = Duration.milliseconds(400)
    /// The tones that are played.
    package var tones: Set<TalkTone> = [.permit, .refused, .timedOut]
    /// Order of the keys: a key takes the floor from the kinds behind its own. A kind that is missing comes last.
    package var order = TalkKeyID.Kind.allCases
    /// nil: the voice link stays open between presses. Else it is requested by the press and given up this long after the
    /// microphone has closed.
    package var linkLinger: Duration?

    package init(mode: TalkMode = .off) {
        self.mode = mode
    }

    /// The settings of a call: its own mode takes precedence over its provider's, and that over this one.
    package func overridden(provider: TalkMode?, call: TalkMode?) -> TalkSettings {
        var settings = self
        settings.mode = call ?? provider ?? mode
        return settings
    }

    /// Position in the order, from 0 for the highest.
    func rank(_ key: TalkKeyID) -> Int { order.firstIndex(of: key.kind) ?? order.count }
}
