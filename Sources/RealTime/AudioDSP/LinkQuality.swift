/// Effects of a device on a call's audio while it carried the call, and the resulting score 0…100.
///
/// A value of counts and times: values of two consecutive periods add up, and the difference of two counter readings is the
/// value of the time between them.
package struct LinkQuality: Equatable, Sendable {
    /// Duration of the observation.
    package var duration = Duration.zero
    /// Packets received, and packets lost: damaged or missing. Zero for a sound card.
    package var packetsReceived = 0
    package var packetsLost = 0
    /// Audio concealed because the real audio was lost or late.
    package var concealed = Duration.zero
    /// Audio lost on this side, in an underrun or overrun of a queue.
    package var dropped = Duration.zero
    /// Number of silences so long that the link counted as silent.
    package var gaps = 0
    /// Sum of the deviations from the interval that the packet size implies, and number of intervals.
    package var deviation = Duration.zero
    package var intervals = 0
    /// Difference by which the sound card's clock is faster, latest value; 0 for a link, which is the clock.
    package var driftPPM = 0.0
    /// Retried set-ups of a link.
    package var retries = 0
    /// Underruns and overruns of a sound card's buffer.
    package var xruns = 0

    package init() {}

    /// Irregularity of arrival: mean deviation of the intervals (RFC 3550 §6.4.1, without its decay).
    package var jitter: Duration { intervals > 0 ? deviation / intervals : .zero }

    /// Score 0…100; nil when nothing was observed.
    ///
    /// 100, minus:
    /// - loss of *p* per cent, of packets or of time, whichever is higher: 110 · *p* / (*p* + 10), the curve of speech
    ///   quality with concealed loss (ITU-T G.107 §7.2). 1 % takes 10, 5 % takes 37, total loss takes everything.
    /// - each gap 10, 30 at most; each xrun 5, 30 at most; each retry 5, 15 at most;
    /// - jitter 1 for each millisecond above 5, 15 at most;
    /// - drift 1 for each 50 ppm above 500, 10 at most: 1000 ppm is the limit of correction.
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

    /// Share of audio that was lost or concealed, 0…1: by packets or by time, whichever is higher.
    package var lostShare: Double {
        let expected = packetsReceived + packetsLost
        let ofPackets = expected > 0 ? Double(packetsLost) / Double(expected) : 0
        let ofTime = duration > .zero ? (concealed + dropped) / duration : 0
        return Self.bounded(max(ofPackets, ofTime), 1)
    }

    /// Clamps to 0…`limit`; NaN becomes 0.
    private static func bounded(_ value: Double, _ limit: Double) -> Double {
        value > 0 ? min(value, limit) : 0
    }

    /// Combines this period with the following one.
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

    /// Difference from an earlier reading of the same counters.
    ///
    /// A counter that has decreased counts as 0, except lost packets: late packets reduce the losses counted before, here
    /// and in the sum.
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
