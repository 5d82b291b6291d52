/// Lowers the bitpool of a stream whose socket does not keep up, and slowly raises it again when it does.
package struct BitpoolController: Sendable {
    /// Lowest bitpool: a listener would prefer a gap to less.
    private static var floor: Int { @_noLocks get { 15 } }
    /// Waiting audio in milliseconds above which the radio counts as too slow, not just busy for a moment.
    private static var limit: Int { @_noLocks get { 40 } }
    /// Time between two steps down: audio that already waits is not shortened by a step.
    private static var pause: Int64 { @_noLocks get { 100_000_000 } }
    /// Time without waiting audio before each step up.
    private static var recoveryTime: Int64 { @_noLocks get { 5_000_000_000 } }

    package private(set) var bitpool: Int
    private let lowest: Int
    private let highest: Int
    private var notBefore: Int64 = 0
    private var goodSince: Int64 = 0

    /// - Parameters:
    ///   - highest: initial value, and the limit of steps up.
    ///   - minimum: lowest agreed value.
    package init(highest: Int, minimum: Int) {
        self.highest = highest
        lowest = min(highest, max(minimum, Self.floor))
        bitpool = highest
    }

    /// Records how much audio waits for the socket; call once a tick. Returns true when the bitpool has changed.
    ///
    /// - Parameters:
    ///   - milliseconds: of audio behind a packet that the socket did not accept; 0 without such a packet.
    ///   - now: nanoseconds, never less than in the previous call.
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
        if now &- goodSince < Self.recoveryTime { return false }
        goodSince = now
        bitpool &+= 1
        return true
    }
}
