/// Learns the regularity of a link's packets and derives the silence after which the link counts as dead
/// (docs/inside/Routing.md §8).
///
/// Two things are learnt: the usual gap, the 99th percentile of the latest 512 gaps; and the longest one, which is forgotten
/// slowly, by half in 270 windows of 128 gaps (4 minutes of packets of 7.5 ms). The limit is half as much again as the greater
/// of the two. A radio that pauses now and then, for a neighbour or a change of roles, has its pauses remembered this way, and
/// one that never does is found dead soon. Until 128 gaps are known the answer is the ceiling, and until 512 are, three times
/// the usual gap.
struct GapWatch: ~Copyable {
    static var windowGaps: Int { @_noLocks get { 512 } }
    static var neededGaps: Int { @_noLocks get { 128 } }
    static var bins: Int { @_noLocks get { 256 } }
    static var floorMilliseconds: Int { @_noLocks get { 60 } }
    static var ceilingMilliseconds: Int { @_noLocks get { 250 } }
    /// Part of the longest gap that is forgotten after `neededGaps` gaps.
    static var forgottenPart: Int64 { @_noLocks get { 390 } }

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
    /// The longest gap, in nanoseconds, as far as it is remembered.
    private(set) var longest: Int64 = 0

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

    private static var ceiling: Int64 { @_noLocks get { Int64(ceilingMilliseconds) &* 1_000_000 } }

    /// Silence in nanoseconds after which the link counts as silent.
    @_noLocks
    func limit() -> Int64 {
        if let fixedLimit { return fixedLimit }
        if count < Self.neededGaps { return Self.ceiling }
        let usual = Int64(percentile) &* 1_000_000
        var limit = count < Self.windowGaps ? usual &* 3 : usual &* 3 / 2
        limit = max64(limit, longest &* 3 / 2)
        limit = max64(limit, Int64(Self.floorMilliseconds) &* 1_000_000)
        return min64(limit, Self.ceiling)
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
        if position % Self.neededGaps == 0 { longest &-= longest / Self.forgottenPart }
        // A link often begins with a pause that says nothing about it.
        if count > Self.neededGaps { longest = max64(longest, min64(gap, Self.ceiling)) }
    }

    /// Records a silence that was reported and has ended, in nanoseconds. One that ended before the ceiling was a pause like
    /// others, and its like will not be reported again; a longer one was the end of something.
    @_noLocks
    mutating func recordSilence(_ gap: Int64) {
        if gap < Self.ceiling { longest = max64(longest, gap) }
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
