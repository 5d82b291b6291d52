package import BluetoothTypes

/// Rate limit for a headset's command lines: a token bucket that fills at a steady rate.
///
/// Key repeat and a hasty service level connection fit easily; a flood empties it.
package struct CommandQuota: Sendable {
    /// Lines at once.
    package let burst: Int
    /// Lines per second in the long run.
    package let perSecond: Int
    private var nanotokens: Int64
    private var filledAt: Instant?

    private static let unit: Int64 = 1_000_000_000

    /// - Parameters:
    ///   - burst: 1…10000.
    ///   - perSecond: 1…10000.
    package init(burst: Int = 200, perSecond: Int = 50) {
        self.burst = min(max(burst, 1), 10_000)
        self.perSecond = min(max(perSecond, 1), 10_000)
        nanotokens = Int64(self.burst) * Self.unit
    }

    /// Takes one token; false when the bucket is empty.
    package mutating func consume(at now: Instant) -> Bool {
        let capacity = Int64(burst) * Self.unit
        if let filledAt, filledAt < now {
            let (gained, overflow) = filledAt.duration(to: now).nanoseconds.multipliedReportingOverflow(
                by: Int64(perSecond))
            nanotokens = overflow || gained > capacity - nanotokens ? capacity : nanotokens + gained
        }
        filledAt = max(filledAt ?? now, now)
        guard nanotokens >= Self.unit else { return false }
        nanotokens -= Self.unit
        return true
    }
}
