/// Learns the regularity of a link's packets and derives the silence after which the link counts as dead
/// (docs/inside/Routing.md §8).
///
/// Keeps the latest 512 gaps in whole milliseconds as a histogram. Until 128 gaps are known the answer is the ceiling.
struct GapWatch: ~Copyable {
    static var windowGaps: Int { @_noLocks get { 512 } }
    static var neededGaps: Int { @_noLocks get { 128 } }
    static var bins: Int { @_noLocks get { 256 } }
    static var floorMilliseconds: Int { @_noLocks get { 60 } }
    static var ceilingMilliseconds: Int { @_noLocks get { 250 } }

    /// Ring of the latest gaps.
    private let window: UnsafeMutablePointer<UInt8>
    /// Number of gaps in the window, by length in milliseconds.
    private let histogram: UnsafeMutablePointer<UInt16>
    private var count = 0
    private var position = 0
    /// Fixed limit from the configuration in nanoseconds; nil adapts.
    private var fixedLimit: Int64?
    /// The 99th percentile of the window, in milliseconds; recomputed every 16 gaps.
    private(set) var percentile = 0

    init() {
        window = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.windowGaps)
        window.initialize(repeating: 0, count: Self.windowGaps)
        histogram = UnsafeMutablePointer<UInt16>.allocate(capacity: Self.bins)
        histogram.initialize(repeating: 0, count: Self.bins)
    }

    deinit {
        window.deallocate()
        histogram.deallocate()
    }

    /// Sets a fixed limit in nanoseconds; nil returns to the adaptive one.
    @_noLocks
    mutating func setLimit(_ nanoseconds: Int64?) {
        fixedLimit = nanoseconds
    }

    /// Silence in nanoseconds after which the link counts as silent.
    @_noLocks
    func limit() -> Int64 {
        if let fixedLimit { return fixedLimit }
        if count < Self.neededGaps { return Int64(Self.ceilingMilliseconds) * 1_000_000 }
        var milliseconds = 3 * percentile
        if milliseconds < Self.floorMilliseconds { milliseconds = Self.floorMilliseconds }
        if milliseconds > Self.ceilingMilliseconds { milliseconds = Self.ceilingMilliseconds }
        return Int64(milliseconds) * 1_000_000
    }

    /// Records the time between two packets, in nanoseconds. Not to be called for the end of a silence.
    @_noLocks
    mutating func record(_ gap: Int64) {
        // Rounded up: a limit must not be shorter than an observed gap.
        var bin = Int((gap &+ 999_999) / 1_000_000)
        if bin < 0 { bin = 0 }
        if bin >= Self.bins { bin = Self.bins - 1 }
        if count == Self.windowGaps {
            let oldest = Int(window[position])
            histogram[oldest] = histogram[oldest] &- 1
        } else {
            count += 1
        }
        window[position] = UInt8(truncatingIfNeeded: bin)
        histogram[bin] = histogram[bin] &+ 1
        position = (position + 1) % Self.windowGaps
        if position % 16 == 0 { percentile = computePercentile() }
    }

    @_noLocks
    private func computePercentile() -> Int {
        // Number of gaps that may exceed the percentile.
        let allowed = count / 100
        var longer = 0
        var bin = Self.bins - 1
        while bin > 0 {
            longer += Int(histogram[bin])
            if longer > allowed { return bin }
            bin -= 1
        }
        return 0
    }
}
