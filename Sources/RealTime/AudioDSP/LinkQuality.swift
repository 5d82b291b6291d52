/// What a device did to the audio of a call while it carried it, and the figure 0…100 that comes of it.
///
/// A value of counts and times: two of consecutive times add up to that of the whole time, and of two readings of counters
/// that only grow the difference is what happened between them.
package struct LinkQuality: Equatable, Sendable {
    /// How long it was watched.
    package var duration = Duration.zero
    /// Packets that came, and what of them was lost: came damaged, or did not come at all. None for a sound card.
    package var packetsReceived = 0
    package var packetsLost = 0
    /// Audio that was made up because the real one was lost or late.
    package var concealed = Duration.zero
    /// Audio that did not get through on this side: a queue ran dry, or over.
    package var dropped = Duration.zero
    /// Times at which nothing came for so long that the link counted as silent.
    package var gaps = 0
    /// By how much the times between packets were off what their size says, in sum and over how many of them.
    package var deviation = Duration.zero
    package var intervals = 0
    /// By how much faster the clock of the sound card is, the latest figure; 0 for a link, which is the clock itself.
    package var driftPPM = 0.0
    /// Set-ups of a link that had to be tried again.
    package var retries = 0
    /// Times at which a sound card's buffer ran dry or over.
    package var xruns = 0

    package init() {}

    /// How irregularly packets came: the mean deviation of the times between them (RFC 3550 §6.4.1, without its decay).
    package var jitter: Duration { intervals > 0 ? deviation / intervals : .zero }

    /// The figure 0…100; nil when nothing was watched.
    ///
    /// 100, less what each of these takes:
    /// - loss of *p* per cent, of packets or of time, whichever is more: 110 · *p* / (*p* + 10), the curve that speech
    ///   quality follows when loss is concealed (ITU-T G.107 §7.2). 1 % takes 10, 5 % takes 37, all takes everything.
    /// - each gap 10, 30 at most; each xrun 5, 30 at most; each retry 5, 15 at most;
    /// - jitter 1 for each millisecond above 5, 15 at most;
    /// - drift 1 for each 50 ppm above 500, 10 at most: 1000 ppm is what can be corrected.
    package var score: Int? {
        guard duration > .zero else { return nil }
        let share = Self.bounded(lostShare * 100, 100)
        var score = 100 - 110 * share / (share + 10)
        score -= Self.bounded(10 * Double(gaps), 30)
        score -= Self.bounded(5 * Double(xruns), 30)
        score -= Self.bounded(5 * Double(retries), 15)
        score -= Self.bounded(jitter / .milliseconds(1) - 5, 15)
        score -= Self.bounded((driftPPM.magnitude - 500) / 50, 10)
        return Int(Self.bounded(score, 100).rounded())
    }

    /// The share of the audio that was not the real one, 0…1: by packets or by time, whichever is more.
    package var lostShare: Double {
        let expected = packetsReceived + packetsLost
        let ofPackets = expected > 0 ? Double(packetsLost) / Double(expected) : 0
        let ofTime = duration > .zero ? (concealed + dropped) / duration : 0
        return Self.bounded(max(ofPackets, ofTime), 1)
    }

    /// Within 0…`limit`; 0 for what is no number.
    private static func bounded(_ value: Double, _ limit: Double) -> Double {
        value > 0 ? min(value, limit) : 0
    }

    /// This, and then `next`.
    package static func + (first: LinkQuality, next: LinkQuality) -> LinkQuality {
        var result = first
        result.duration += next.duration
        result.packetsReceived += next.packetsReceived
        result.packetsLost += next.packetsLost
        result.concealed += next.concealed
        result.dropped += next.dropped
        result.gaps += next.gaps
        result.deviation += next.deviation
        result.intervals += next.intervals
        if next.duration > .zero { result.driftPPM = next.driftPPM }
        result.retries += next.retries
        result.xruns += next.xruns
        return result
    }

    package static func += (total: inout LinkQuality, next: LinkQuality) { total = total + next }

    /// What happened since an earlier reading of the same counters.
    ///
    /// A figure that is smaller than it was counts as 0, but for the packets that are lost: those that come late after all
    /// take back what was taken for lost, here and in the sum.
    package func since(_ earlier: LinkQuality) -> LinkQuality {
        var result = self
        result.duration = max(.zero, duration - earlier.duration)
        result.packetsReceived = max(0, packetsReceived - earlier.packetsReceived)
        result.packetsLost = packetsLost - earlier.packetsLost
        result.concealed = max(.zero, concealed - earlier.concealed)
        result.dropped = max(.zero, dropped - earlier.dropped)
        result.gaps = max(0, gaps - earlier.gaps)
        result.deviation = max(.zero, deviation - earlier.deviation)
        result.intervals = max(0, intervals - earlier.intervals)
        result.retries = max(0, retries - earlier.retries)
        result.xruns = max(0, xruns - earlier.xruns)
        return result
    }
}
