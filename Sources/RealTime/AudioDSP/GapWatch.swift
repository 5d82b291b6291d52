/// Learns how long a link pauses, and derives the silence after which it counts as dead (docs/inside/Audio.md).
///
/// A packet is a *sign of life*, unless the controller says that it received nothing in the packet's time. The watch
/// begins with the first sign. It keeps the longest gap between two signs in slices of half a second, and joins slices
/// to at most 32 blocks: when they are full, each two neighbours become one, until a block has 64 s; then the oldest is
/// dropped. So the history reaches back to the link's beginning, up to half an hour.
///
/// The limit is the longest gap and four times its distance to the usual one, the median of the blocks: at least a
/// quarter more than the longest gap, at most two and a half times as much, and always 60 to 250 ms. The least limit is
/// 250 ms in the first two seconds and falls evenly to 60 ms in the next four.
///
/// A loss teaches nothing. A gap counts at once, but the slices of the last two seconds are forgotten when the link
/// falls silent, and so is a silence that lasted for more than 250 ms. One that ended sooner was a pause: it counts
/// like any gap.
///
/// Times are nanoseconds of one clock that does not go back. `init` allocates the memory.
package struct GapWatch: ~Copyable {
    /// Packet status "no data received" (Bluetooth Core, Vol 4 Part E §5.4.3). With "possibly invalid" (1) and
    /// "partially lost" (3) something has arrived.
    static var nothingReceived: Int32 { @_noLocks get { 2 } }
    static var floorMilliseconds: Int { @_noLocks get { 60 } }
    package static var ceilingMilliseconds: Int { @_noLocks get { 250 } }
    private static var millisecond: Int64 { @_noLocks get { 1_000_000 } }
    private static var ceiling: Int64 { @_noLocks get { 250_000_000 } }
    /// Gaps that begin in the first second say nothing: a headset's voice often starts with one.
    private static var settlingTime: Int64 { @_noLocks get { 1_000_000_000 } }
    /// When the least limit begins to fall, and for how long it falls.
    private static var learningTime: Int64 { @_noLocks get { 2_000_000_000 } }
    private static var fallingTime: Int64 { @_noLocks get { 4_000_000_000 } }
    private static var sliceTime: Int64 { @_noLocks get { 500_000_000 } }
    /// Finished slices that a silence makes forgotten.
    private static var mostFresh: Int { @_noLocks get { 3 } }
    private static var mostBlocks: Int { @_noLocks get { 32 } }
    private static var mostSlicesInBlock: Int { @_noLocks get { 128 } }

    /// Longest gaps in milliseconds, rounded up, at most the ceiling: of each block, the oldest first, and of each
    /// fresh slice.
    private let blocks: UnsafeMutablePointer<UInt8>
    private let fresh: UnsafeMutablePointer<UInt8>
    private var blockCount = 0
    private var freshCount = 0
    private var slicesInBlock = 1
    /// The block that is being filled: its longest gap in milliseconds, and its slices so far.
    private var growing = 0
    private var grownSlices = 0
    /// The slice that is being filled: its longest gap in milliseconds, and its beginning.
    private var present = 0
    private var sliceBegan: Int64 = 0

    /// The longest known gap, in milliseconds; 0 before the first one.
    package private(set) var longest = 0
    /// Median of the blocks and the fresh slices, in milliseconds.
    private var usual = 0

    /// Fixed limit from the configuration in nanoseconds; nil adapts.
    private var fixedLimit: Int64?
    private var isWatching = false
    /// A packet has come, perhaps without a sign of life.
    private var hasBegun = false
    private var began: Int64 = 0
    /// Time of the last sign of life; before the first one, of the last packet.
    package private(set) var lastSign: Int64 = 0
    /// `becameSilent` was true, and no sign of life has come since.
    package private(set) var isSilent = false

    package init() {
        blocks = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.mostBlocks)
        blocks.initialize(repeating: 0, count: Self.mostBlocks)
        fresh = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.mostFresh)
        fresh.initialize(repeating: 0, count: Self.mostFresh)
    }

    deinit {
        blocks.deallocate()
        fresh.deallocate()
    }

    /// Sets a fixed limit in nanoseconds; nil returns to the learnt one.
    @_noLocks
    package mutating func setLimit(_ nanoseconds: Int64?) {
        fixedLimit = nanoseconds
    }

    /// Silence in nanoseconds after which the link counts as silent.
    @_noLocks
    package func limit() -> Int64 {
        if let fixedLimit { return fixedLimit }
        if longest == 0 { return Self.ceiling }
        let least = longest + (longest + 3) / 4
        let most = 5 * longest / 2
        var milliseconds = longest + 4 * (longest - usual)
        if milliseconds < least { milliseconds = least }
        if milliseconds > most { milliseconds = most }
        let floor = leastMilliseconds()
        if milliseconds < floor { milliseconds = floor }
        if milliseconds > Self.ceilingMilliseconds { milliseconds = Self.ceilingMilliseconds }
        return Int64(milliseconds) * Self.millisecond
    }

    /// The least limit at the link's age, in milliseconds.
    @_noLocks
    private func leastMilliseconds() -> Int {
        let age = lastSign &- began
        if age < Self.learningTime { return Self.ceilingMilliseconds }
        if age >= Self.learningTime &+ Self.fallingTime { return Self.floorMilliseconds }
        let range = Int64(Self.ceilingMilliseconds &- Self.floorMilliseconds)
        return Self.ceilingMilliseconds &- Int((age &- Self.learningTime) &* range / Self.fallingTime)
    }

    /// When the link falls silent if no sign of life comes; `Int64.max` while it cannot.
    ///
    /// - Parameter grace: earliest time of an answer: before it the thread itself was late.
    @_noLocks
    package func deadline(grace: Int64) -> Int64 {
        if !hasBegun || isSilent { return Int64.max }
        let due = lastSign &+ limit()
        return due > grace ? due : grace
    }

    /// Returns true once when the deadline has come.
    @_noLocks
    package mutating func becameSilent(now: Int64, grace: Int64) -> Bool {
        if now < deadline(grace: grace) { return false }
        isSilent = true
        freshCount = 0
        present = 0
        judge()
        return true
    }

    /// Records a packet. Returns the length of the silence that it ends, in nanoseconds; 0 for none.
    ///
    /// - Parameters:
    ///   - status: the controller's packet status, 0 for correctly received.
    ///   - grace: before this time the thread was late: the gap may be its own, and teaches nothing.
    @_noLocks
    package mutating func arrived(status: Int32, now: Int64, grace: Int64 = 0) -> Int64 {
        let isSign = status != Self.nothingReceived
        if !isWatching {
            let silence = isSilent ? now &- lastSign : 0
            isSilent = false
            hasBegun = true
            lastSign = now
            began = now
            sliceBegan = now
            isWatching = isSign
            return silence
        }
        if !isSign { return 0 }
        let before = lastSign
        let gap = now &- before
        lastSign = now
        var silence: Int64 = 0
        if isSilent {
            isSilent = false
            silence = gap
            sliceBegan = now
            if gap > Self.ceiling { return silence }
        }
        if before &- began < Self.settlingTime {
            sliceBegan = now
        } else if now >= grace {
            record(gap, now)
        }
        return silence
    }

    @_noLocks
    private mutating func record(_ gap: Int64, _ now: Int64) {
        // Rounded up: a limit must not be shorter than an observed gap.
        var milliseconds = Int((gap &+ Self.millisecond &- 1) / Self.millisecond)
        if milliseconds > Self.ceilingMilliseconds { milliseconds = Self.ceilingMilliseconds }
        if milliseconds > present { present = milliseconds }
        if milliseconds > longest { longest = milliseconds }
        if now &- sliceBegan < Self.sliceTime { return }
        sliceBegan = now
        if freshCount == Self.mostFresh { confirm() }
        fresh[freshCount] = UInt8(truncatingIfNeeded: present)
        freshCount += 1
        present = 0
        judge()
    }

    /// Moves the oldest fresh slice to the blocks: the link has lived on for one and a half to two seconds.
    @_noLocks
    private mutating func confirm() {
        let oldest = Int(fresh[0])
        freshCount -= 1
        var index = 0
        while index < freshCount {
            fresh[index] = fresh[index + 1]
            index += 1
        }
        if oldest > growing { growing = oldest }
        grownSlices += 1
        if grownSlices < slicesInBlock { return }
        if blockCount == Self.mostBlocks {
            if slicesInBlock < Self.mostSlicesInBlock {
                joinNeighbours()
                // What has grown is now half of a block.
                return
            }
            blockCount -= 1
            index = 0
            while index < blockCount {
                blocks[index] = blocks[index + 1]
                index += 1
            }
        }
        blocks[blockCount] = UInt8(truncatingIfNeeded: growing)
        blockCount += 1
        growing = 0
        grownSlices = 0
    }

    @_noLocks
    private mutating func joinNeighbours() {
        blockCount = Self.mostBlocks / 2
        slicesInBlock = 2 * slicesInBlock
        var index = 0
        while index < blockCount {
            let first = blocks[2 * index]
            let second = blocks[2 * index + 1]
            blocks[index] = first > second ? first : second
            index += 1
        }
    }

    // MARK: Judgement

    /// Recomputes the longest and the usual gap.
    @_noLocks
    private mutating func judge() {
        let count = blockCount + freshCount
        longest = growing > present ? growing : present
        var index = 0
        while index < count {
            let gap = known(index)
            if gap > longest { longest = gap }
            index += 1
        }
        usual = median(of: count)
    }

    /// The blocks, and then the fresh slices.
    @_noLocks
    private func known(_ index: Int) -> Int {
        index < blockCount ? Int(blocks[index]) : Int(fresh[index - blockCount])
    }

    /// Without sorting: 35 values at most, twice a second.
    @_noLocks
    private func median(of count: Int) -> Int {
        var index = 0
        while index < count {
            let candidate = known(index)
            var below = 0
            var above = 0
            var other = 0
            while other < count {
                let gap = known(other)
                if gap < candidate { below += 1 }
                if gap > candidate { above += 1 }
                other += 1
            }
            if below <= count / 2 && count / 2 < count - above { return candidate }
            index += 1
        }
        return 0
    }
}
