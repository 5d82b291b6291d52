/// Time from one frame to the next in seconds, as a fraction; as the driver says it, even 0/0.
package struct FrameInterval: Hashable, Sendable, CustomStringConvertible {
    package let numerator: UInt32
    package let denominator: UInt32

    package init(_ numerator: UInt32, _ denominator: UInt32) {
        self.numerator = numerator
        self.denominator = denominator
    }

    package var description: String { "\(numerator)/\(denominator)" }

    /// Nil for a fraction with a zero, and for a rate that no camera has.
    package var rate: FrameRate? {
        guard numerator > 0, denominator > 0 else { return nil }
        // 32 bits times 1000: no overflow.
        let (whole, rest) = (UInt64(denominator) * 1000).quotientAndRemainder(dividingBy: UInt64(numerator))
        let rounded = whole + (rest * 2 >= UInt64(numerator) ? 1 : 0)
        return Int(exactly: rounded).flatMap { FrameRate(thousandths: $0) }
    }

    /// Nil where ``rate`` is nil; otherwise 1,000,000 to 2,000,000,000,000.
    var nanoseconds: UInt64? {
        guard rate != nil else { return nil }
        return UInt64(numerator) * 1_000_000_000 / UInt64(denominator)
    }

    /// - Parameter nanoseconds: 1 to 4,000,000,000,000,000.
    init(nanoseconds: UInt64) {
        // Above four seconds the numerator has no room for nanoseconds.
        let isLong = nanoseconds > 4_000_000_000
        let (units, second): (UInt64, UInt64) = isLong ? (nanoseconds / 1_000_000, 1000) : (nanoseconds, 1_000_000_000)
        let divisor = Self.greatestCommonDivisor(units, second)
        self.init(UInt32(clamping: units / divisor), UInt32(clamping: second / divisor))
    }

    /// The interval of so many whole frames per second.
    init(framesPerSecond: Int) {
        self.init(1, UInt32(clamping: framesPerSecond))
    }

    /// - Returns: at least 1 for numbers that are not both zero.
    private static func greatestCommonDivisor(_ first: UInt64, _ second: UInt64) -> UInt64 {
        var (first, second) = (first, second)
        while second > 0 { (first, second) = (second, first % second) }
        return first
    }
}

/// One answer of a driver that enumerates intervals (`VIDIOC_ENUM_FRAMEINTERVALS`).
package enum IntervalAnswer: Hashable, Sendable {
    case discrete(FrameInterval)
    case stepwise(least: FrameInterval, most: FrameInterval, step: FrameInterval)
    case continuous(least: FrameInterval, most: FrameInterval)

    /// Legal intervals around the wanted one, and the ends; fractions without a rate are left out.
    ///
    /// Ends in the wrong order are exchanged. With a step of zero only the ends are known to be legal.
    func intervals(around wanted: FrameInterval) -> [FrameInterval] {
        switch self {
        case .discrete(let interval): return interval.rate == nil ? [] : [interval]
        case .continuous(let one, let other):
            guard let ends = Self.ends(one, other) else { return Self.valid([one, other]) }
            return Self.valid([one, other] + (Self.isInside(wanted, ends) ? [wanted] : []))
        case .stepwise(let one, let other, let step):
            guard let ends = Self.ends(one, other), let target = wanted.nanoseconds else {
                return Self.valid([one, other])
            }
            guard step.numerator > 0, step.denominator > 0 else { return Self.valid([one, other]) }
            let pace = UInt64(step.numerator) * 1_000_000_000 / UInt64(step.denominator)
            guard pace > 0 else { return Self.valid([one, other] + (Self.isInside(wanted, ends) ? [wanted] : [])) }
            return Self.valid([one, other] + Self.places(target, ends, pace).map { Self.named($0, wanted, target) })
        }
    }

    /// The steps below and above the wanted interval, in nanoseconds.
    private static func places(_ target: UInt64, _ ends: ClosedRange<UInt64>, _ pace: UInt64) -> [UInt64] {
        guard ends.contains(target) else { return [] }
        let below = ends.lowerBound + (target - ends.lowerBound) / pace * pace
        // Neither sum nor difference overflows: the ends are below 2^41, the pace below 2^62.
        return [below, below + pace].filter { ends.contains($0) }
    }

    /// The wanted fraction where the step differs from it by rounding only.
    private static func named(_ place: UInt64, _ wanted: FrameInterval, _ target: UInt64) -> FrameInterval {
        max(place, target) - min(place, target) <= target / 1000 ? wanted : FrameInterval(nanoseconds: place)
    }

    private static func ends(_ one: FrameInterval, _ other: FrameInterval) -> ClosedRange<UInt64>? {
        guard let one = one.nanoseconds, let other = other.nanoseconds else { return nil }
        return min(one, other)...max(one, other)
    }

    private static func isInside(_ interval: FrameInterval, _ ends: ClosedRange<UInt64>) -> Bool {
        interval.nanoseconds.map { ends.contains($0) } == true
    }

    private static func valid(_ intervals: [FrameInterval]) -> [FrameInterval] { intervals.filter { $0.rate != nil } }
}
