/// Bitpool by link: a stream whose socket does not keep up is made smaller, and slowly larger again when it does.
package struct BitpoolController: Sendable {
    /// Below it a listener would rather have a gap.
    private static var floor: Int { @_noLocks get { 15 } }
    /// Milliseconds that wait in vain before the radio is taken to be too slow, and not only busy for a moment.
    private static var limit: Int { @_noLocks get { 40 } }
    /// From one step down to the next: what waits already is as long as it is.
    private static var pause: Int64 { @_noLocks get { 100_000_000 } }
    /// Without waiting, from one step up to the next.
    private static var patience: Int64 { @_noLocks get { 5_000_000_000 } }

    package private(set) var bitpool: Int
    private let lowest: Int
    private let highest: Int
    private var notBefore: Int64 = 0
    private var goodSince: Int64 = 0

    /// - Parameters:
    ///   - highest: what it begins with and comes back to.
    ///   - minimum: what was agreed on.
    package init(highest: Int, minimum: Int) {
        self.highest = highest
        lowest = min(highest, max(minimum, Self.floor))
        bitpool = highest
    }

    /// Notes how much waits for the socket, once a tick; true when the bitpool has changed.
    ///
    /// - Parameters:
    ///   - milliseconds: of audio behind a packet that the socket did not take; 0 when there is no such packet.
    ///   - now: nanoseconds, never less than the last time.
    @_noLocks
    package mutating func note(waiting milliseconds: Int, now: Int64) -> Bool {
        if milliseconds >= Self.limit {
            goodSince = now
            if bitpool == lowest || now < notBefore { return false }
            notBefore = now &+ Self.pause
            let step = bitpool / 8
            bitpool = bitpool &- step > lowest ? bitpool &- step : lowest
            return true
        }
        if milliseconds > 0 || bitpool == highest {
            goodSince = now
            return false
        }
        if now &- goodSince < Self.patience { return false }
        goodSince = now
        bitpool &+= 1
        return true
    }
}
