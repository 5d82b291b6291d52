import AudioDSP

/// A `GapWatch` on a link: how often the living link is taken for dead, and how soon the dead one is found.
package struct DetectionTrial: Sendable {
    /// The headset dies now and then, and comes back. Times are nanoseconds since the link was opened.
    private struct Deaths {
        private static let second = 1e9
        private var random: SeededRandom
        private(set) var start: Int64
        private(set) var end: Int64
        var isFound = false

        init(seed: UInt64) {
            random = SeededRandom(seed * 1_000 + 999)
            start = Int64(random.between(10 * Self.second...40 * Self.second))
            end = start + Int64(random.between(Self.second...3 * Self.second))
        }

        mutating func next() {
            start = end + Int64(random.between(15 * Self.second...45 * Self.second))
            end = start + Int64(random.between(Self.second...3 * Self.second))
            isFound = false
        }
    }

    /// Times that a living link was taken for dead.
    package private(set) var falseAlarms = 0
    /// Deaths that were not found before the headset came back.
    package private(set) var missed = 0
    /// Milliseconds from the last sign of life to the alarm, for each death that was found, the shortest first.
    package private(set) var detections: [Double] = []

    package var usual: Double? { detections.isEmpty ? nil : detections[detections.count / 2] }
    package var longest: Double? { detections.last }

    /// A trial in which nobody dies.
    ///
    /// - Parameters:
    ///   - arrivals: in the order of their times.
    ///   - duration: nanoseconds; later arrivals are ignored.
    package init(_ arrivals: some Sequence<Arrival>, for duration: Int64) {
        var watch = GapWatch()
        for arrival in arrivals {
            if arrival.time > duration { break }
            if Self.alarm(of: &watch, before: arrival) != nil { falseAlarms += 1 }
            _ = watch.arrived(status: arrival.status, now: arrival.time)
        }
    }

    /// A trial in which the headset dies for 1 to 3 s, every 15 to 45 s, at random times.
    ///
    /// - Parameters:
    ///   - seed: of the deaths.
    ///   - reportsLosses: the controller sends a dead headset's packets on, with status 2; otherwise nothing arrives.
    package init(_ arrivals: some Sequence<Arrival>, for duration: Int64, deaths seed: UInt64, reportsLosses: Bool) {
        var watch = GapWatch()
        var deaths = Deaths(seed: seed)
        for arrival in arrivals {
            if arrival.time > duration { break }
            let sign = watch.lastSign
            if let alarm = Self.alarm(of: &watch, before: arrival) {
                if alarm >= deaths.start && alarm <= deaths.end {
                    deaths.isFound = true
                    detections.append(Double(alarm - sign) / 1_000_000)
                } else {
                    falseAlarms += 1
                }
            }
            while arrival.time > deaths.end {
                if !deaths.isFound { missed += 1 }
                deaths.next()
            }
            let isDead = arrival.time >= deaths.start
            if isDead && !reportsLosses { continue }
            _ = watch.arrived(status: isDead ? 2 : arrival.status, now: arrival.time)
        }
        detections.sort()
    }

    /// The time at which the link was taken for dead before this packet; nil: it was not.
    private static func alarm(of watch: inout GapWatch, before arrival: Arrival) -> Int64? {
        if arrival.isAfterStall { return nil }
        let deadline = watch.deadline(grace: 0)
        // A thread that wakes for both finds the packet first.
        guard deadline < arrival.time, watch.becameSilent(now: deadline, grace: 0) else { return nil }
        return deadline
    }
}
