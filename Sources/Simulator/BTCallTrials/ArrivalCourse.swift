import Glibc

/// How the packets of a living voice link arrive: without end, and the same for the same seed. Times are milliseconds.
package struct ArrivalCourse: Sendable {
    /// Pauses, one after the other.
    package struct Pauses: Sendable {
        /// What becomes of a packet that falls into a pause.
        package enum Kind: Sendable {
            /// It never arrives.
            case lost
            /// It arrives when the pause ends.
            case late
            /// The same, because the audio thread slept.
            case slept
        }

        package enum Length: Sendable {
            case even(ClosedRange<Double>)
            /// The greatest length grows evenly until this time.
            case growing(ClosedRange<Double>, until: Double)
            case exponential(mean: Double)
        }

        package var kind = Kind.lost
        /// Time from the end of a pause to the next one.
        package var every: ClosedRange<Double>
        package var length: Length
        /// Time of the first one; nil: as between two.
        package var first: ClosedRange<Double>?

        package init(
            _ kind: Kind = .lost, every: ClosedRange<Double>, _ length: Length, first: ClosedRange<Double>? = nil
        ) {
            self.kind = kind
            self.every = every
            self.length = length
            self.first = first
        }
    }

    /// Packets in whose time the controller received nothing: status 2. Two of a hundred others have status 1 or 3.
    package struct Losses: Sendable {
        /// Share of all packets, 0 to 1.
        package var share: Double
        /// Consecutive lost packets, each number equally likely; nil: each packet for its own.
        package var burst: ClosedRange<Int>?
    }

    package var name: String
    /// Time between two packets, and how much later than that one may be.
    package var period = 7.5
    package var jitter = 0.8
    /// Packets that the controller hands over at once.
    package var batch = 1...1
    package var pauses: [Pauses] = []
    package var losses: Losses?
    /// Pauses that nothing announces: each of them may be taken for the link's end.
    package var unannounced = 0
    /// Most milliseconds in which a dead link has to be found: in half of the cases, and in all.
    package var usualLimit: Double
    package var longestLimit: Double

    package func arrivals(seed: UInt64) -> ArrivalGenerator { ArrivalGenerator(self, seed: seed) }
}

/// The packets of a course, in the order of their times.
package struct ArrivalGenerator: Sequence, IteratorProtocol {
    private struct Track {
        let pauses: ArrivalCourse.Pauses
        private var random: SeededRandom
        private var start = 0.0
        private(set) var end = 0.0

        init(_ pauses: ArrivalCourse.Pauses, seed: UInt64) {
            self.pauses = pauses
            random = SeededRandom(seed)
            start = random.between(pauses.first ?? pauses.every)
            end = start + drawLength()
        }

        /// Whether a packet of this time falls into a pause, which ends at `end`. Times must not go back.
        mutating func holds(_ time: Double) -> Bool {
            while time > end {
                start = end + random.between(pauses.every)
                end = start + drawLength()
            }
            return time >= start
        }

        private mutating func drawLength() -> Double {
            switch pauses.length {
            case .even(let range): return random.between(range)
            case .growing(let range, let until):
                let growth = (range.upperBound - range.lowerBound) * Swift.min(1, start / until)
                return random.between(range.lowerBound...(range.lowerBound + growth))
            case .exponential(let mean): return -mean * log(1 - random.fraction())
            }
        }
    }

    private let course: ArrivalCourse
    private var random: SeededRandom
    private var tracks: [Track]
    private var packets = 0
    private var batchLeft = 0
    /// When the present batch is due, and when the last packet arrived.
    private var due = 0.0
    private var last = 0.0
    private var burstLeft = 0
    private var wasLost = false

    fileprivate init(_ course: ArrivalCourse, seed: UInt64) {
        self.course = course
        random = SeededRandom(seed * 1_000)
        tracks = course.pauses.enumerated().map { Track($1, seed: seed * 1_000 + UInt64($0) + 1) }
    }

    package mutating func next() -> Arrival? {
        while true {
            if batchLeft == 0 { beginBatch() }
            batchLeft -= 1
            var time = due
            var isAfterStall = false
            var isLost = false
            for index in tracks.indices {
                if isLost || !tracks[index].holds(time) { continue }
                switch tracks[index].pauses.kind {
                case .lost: isLost = true
                case .late: time = tracks[index].end
                case .slept:
                    time = tracks[index].end
                    isAfterStall = true
                }
            }
            if isLost { continue }
            let status = drawStatus()
            last = Swift.max(last, time)
            return Arrival(time: Int64(last * 1_000_000), status: status, isAfterStall: isAfterStall)
        }
    }

    private mutating func beginBatch() {
        let (least, most) = (course.batch.lowerBound, course.batch.upperBound)
        batchLeft = least == most ? least : least + Int(random.fraction() * Double(most - least + 1))
        packets += batchLeft
        due = Double(packets) * course.period + random.fraction() * course.jitter
    }

    private mutating func drawStatus() -> Int32 {
        guard let losses = course.losses else { return 0 }
        wasLost = isLost(losses)
        if wasLost { return 2 }
        let share = random.fraction()
        return share < 0.01 ? 1 : share < 0.02 ? 3 : 0
    }

    private mutating func isLost(_ losses: ArrivalCourse.Losses) -> Bool {
        guard let burst = losses.burst else { return random.fraction() < losses.share }
        if burstLeft > 0 {
            burstLeft -= 1
            return true
        }
        // The interval between bursts gives the share; at least one packet arrives between two.
        let mean = Double(burst.lowerBound + burst.upperBound) / 2
        guard !wasLost, random.fraction() < losses.share / (mean * (1 - losses.share)) else { return false }
        burstLeft = burst.lowerBound - 1 + Int(random.fraction() * Double(burst.count))
        return true
    }
}

extension SeededRandom {
    /// 0 to below 1, the same on every machine.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    mutating func between(_ range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }
}
