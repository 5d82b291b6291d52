/// A point on the monotonic clock, in nanoseconds since an arbitrary start (`CLOCK_MONOTONIC` in the daemon, zero in a
/// replay).
///
/// Pure machines receive it as an argument and never read a clock.
package struct Instant: Hashable, Sendable, InstantProtocol {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) {
        self.nanoseconds = nanoseconds
    }

    /// - Parameter milliseconds: since the start of the clock.
    package init(milliseconds: Int64) {
        nanoseconds = milliseconds &* 1_000_000
    }

    package static let zero = Instant(nanoseconds: 0)

    /// Saturates instead of overflowing: a deadline that is too far away becomes the last instant.
    package func advanced(by duration: Duration) -> Instant {
        let (sum, overflow) = nanoseconds.addingReportingOverflow(duration.nanoseconds)
        guard overflow else { return Instant(nanoseconds: sum) }
        return Instant(nanoseconds: duration < .zero ? .min : .max)
    }

    /// The last whole millisecond up to this instant.
    package var wholeMilliseconds: Instant {
        let part = nanoseconds % 1_000_000
        return Instant(nanoseconds: nanoseconds - (part < 0 ? part + 1_000_000 : part))
    }

    package func duration(to other: Instant) -> Duration {
        .nanoseconds(other.nanoseconds) - .nanoseconds(nanoseconds)
    }

    package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }
}

extension Duration {
    /// The duration in whole nanoseconds, rounded towards zero and saturated to 64 bits (292 years).
    package var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = whole.addingReportingOverflow(attoseconds / 1_000_000_000)
        guard !carry else { return seconds < 0 ? .min : .max }
        return sum
    }

    /// The duration in whole milliseconds, rounded towards zero.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }
}
