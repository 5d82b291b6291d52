import AudioDSP
import CBTCall
import Glibc

/// The thread's side of one call: a packet socket to the provider, one message every 10 ms (docs/Applications.md). Its queue
/// is one channel of 16 bit at the call's rate, whatever the message layout.
///
/// The provider answers each received block with one. The blocks in flight and in the queue therefore always equal the
/// number sent first (`prime`), however unevenly the clock ticks, until a block is missing or an adaptive queue changes
/// its length (``ApplicationQueue``).
struct CallPort: ~Copyable {
    enum Phase: UInt8 {
        /// Not clocked; received blocks are discarded.
        case inactive
        /// Primed; the provider has not answered yet.
        case waiting
        case clocked
        /// Released to the control side, or about to be.
        case closed
    }

    static var ringBlocks: Int { @_noLocks get { 32 } }
    /// Timeout for a provider's first answer; then the call is clocked without one.
    static var answerTimeout: Int64 { @_noLocks get { 1_000_000_000 } }
    /// A late provider answers all blocks at once; excess blocks within this time do not count as loss.
    static var settling: Int64 { @_noLocks get { 500_000_000 } }
    /// Unsolicited messages accepted in 10 ms beside the answers. More wait in the socket until the 10 ms have passed, so
    /// that a provider that writes without end does not wake the thread more often.
    static var mostUnasked: Int { @_noLocks get { 8 } }
    static var unaskedNanoseconds: Int64 { @_noLocks get { 10_000_000 } }
    /// Time in which a provider is expected to answer a block, and how much longer the clock of a link waits for it: less
    /// than its packets jitter.
    static var answerNanoseconds: Int64 { @_noLocks get { 10_000_000 } }
    static var graceNanoseconds: Int64 { @_noLocks get { 2_000_000 } }
    /// How many answers at the beginning of a call are timed; later, one in so many: an odd number, because some applications
    /// answer in pairs.
    static var firstTimed: Int { @_noLocks get { 128 } }
    static var timedInterval: Int { @_noLocks get { 7 } }
    /// An answer that comes this shortly before its tick came only just in time.
    static var marginNanoseconds: Int64 { @_noLocks get { 1_000_000 } }
    /// A tick that follows the one before sooner is part of a burst, and no provider could have answered.
    static var burstNanoseconds: Int64 { @_noLocks get { 5_000_000 } }

    let id: UInt32
    let descriptor: Int32
    let rate: Int
    /// Frames in 10 ms.
    let blockFrames: Int
    let counters: UnsafeMutablePointer<CallCounters>
    private var phase = Phase.inactive
    var isInactive: Bool { @_noLocks get { if case .inactive = phase { true } else { false } } }
    var isWaiting: Bool { @_noLocks get { if case .waiting = phase { true } else { false } } }
    var isClocked: Bool { @_noLocks get { if case .clocked = phase { true } else { false } } }
    var isClosed: Bool { @_noLocks get { if case .closed = phase { true } else { false } } }
    /// Times of priming and of the first answer.
    private var primedAt: Int64 = 0
    private(set) var startedAt: Int64 = 0
    /// Index in the poll set.
    var pollIndex = -1
    /// Sent blocks without an answer yet, at most a queue; when the latest blocks were sent, and the number of the next one.
    private var unanswered = 0
    private let sentAt: UnsafeMutablePointer<Int64>
    private var sentBlocks = 0
    /// When the latest timed answer arrived, and how many arrived with it.
    private var newestAt: Int64 = 0
    private var newestBlocks = 0
    /// The provider was waited for in vain, and has not answered since.
    private var hasMissedWait = false
    /// Length of the queue, if it adapts to the provider.
    private var queue: ApplicationQueue
    private var isAdaptive = false
    /// The latest tick played a block of this call.
    private var wasTaken = false
    /// The present tick has taken this call's turn in its downlink half, so that its uplink half sends the call a block.
    var isInTick = false
    /// Unsolicited messages, and when their count is reset.
    private var unasked = 0
    private var unaskedUntil: Int64 = 0
    /// Nothing is read from the provider for now, unless it has closed.
    var isResting: Bool { @_noLocks get { unasked >= Self.mostUnasked } }
    /// Number of the block from which on most answers need not wake the thread.
    private var timedBlocks = 0
    /// The next answer wakes the thread, so that the time of its arrival is known. The others are read when something else
    /// wakes it: a tick that misses one waits for it, or counts it as late.
    var isTimed: Bool {
        @_noLocks get { !isClocked || isAdaptive && (sentBlocks < timedBlocks || sentBlocks % Self.timedInterval == 0) }
    }

    /// Gains of the far end's audio towards the user and of the uplink towards the far end, for calls with one direction
    /// only.
    var hearing: Gain
    var speaking: Gain

    private let layout: SampleLayout
    private let blockBytes: Int
    private var downlink: SampleRing
    private var toBus: ToBus
    /// `takeBlock` gives doubled audio (see `Resampler`).
    var doubles: Bool { @_noLocks get { toBus.doubles } }
    private var sender: BlockSender
    private let block: UnsafeMutablePointer<Int16>
    /// The block behind `block` while the queue is made shorter.
    private let following: UnsafeMutablePointer<Int16>
    private var fade: CrossFade
    /// A received message; one frame longer than a block, so that an oversized message is detected.
    private let received: UnsafeMutableRawPointer

    /// - Parameters:
    ///   - mostBlocks: greatest length of a queue that adapts.
    ///   - counters: owned by the control side, which frees it after this port.
    init(
        id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout, bus: BusRates, mostBlocks: Int = 6,
        counters: UnsafeMutablePointer<CallCounters>
    ) {
        self.id = id
        self.descriptor = descriptor
        self.rate = rate
        self.layout = layout
        self.counters = counters
        blockFrames = rate / 100
        blockBytes = blockFrames * layout.frameBytes
        downlink = SampleRing(capacity: blockFrames * Self.ringBlocks)
        toBus = ToBus(from: rate, bus: bus)
        hearing = Gain(rate: bus.lowest)
        speaking = Gain(rate: bus.lowest)
        sender = BlockSender(descriptor: descriptor, rate: rate, layout: layout, bus: bus)
        block = UnsafeMutablePointer<Int16>.allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        following = UnsafeMutablePointer<Int16>.allocate(capacity: blockFrames)
        following.initialize(repeating: 0, count: blockFrames)
        sentAt = UnsafeMutablePointer<Int64>.allocate(capacity: Self.ringBlocks)
        sentAt.initialize(repeating: 0, count: Self.ringBlocks)
        queue = ApplicationQueue(most: mostBlocks)
        fade = CrossFade(rate: rate, milliseconds: 10)
        let room = blockBytes + layout.frameBytes
        received = .allocate(byteCount: room, alignment: 16)
        received.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    }

    deinit {
        block.deallocate()
        following.deallocate()
        sentAt.deallocate()
        received.deallocate()
    }

    /// Sets the rate of the bus before the call takes part in a tick.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        toBus.set(index)
        sender.adoptBus(index)
        setGainRates()
    }

    /// Prepares for another rate of the bus; a negative index ends that.
    @_noLocks
    mutating func prepareBus(_ index: Int) { toBus.prepare(index) }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block of the uplink, of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        toBus.change(to: index)
        if speaking.isOpen {
            sender.changeBus(to: index, after: last, right: last, frames)
        } else {
            sender.adoptBus(index)
        }
        setGainRates()
    }

    @_noLocks
    private mutating func setGainRates() {
        hearing.setRate(toBus.busRate)
        speaking.setRate(toBus.busRate)
    }

    /// Next time to act without a provider's answer; `Int64.max` if never. Ends a rest whose time has passed.
    @_noLocks
    mutating func deadline(now: Int64) -> Int64 {
        if now >= unaskedUntil { unasked = 0 }
        let rest = isResting ? unaskedUntil : Int64.max
        return isWaiting ? min64(rest, primedAt &+ Self.answerTimeout) : rest
    }

    @_noLocks
    private mutating func countMessage(now: Int64) {
        if unanswered > 0 {
            unanswered &-= 1
            return
        }
        if now >= unaskedUntil {
            unasked = 0
            unaskedUntil = now &+ Self.unaskedNanoseconds
        }
        unasked &+= 1
    }

    /// Starts the clocking: sends `blocks` of silence, whose answers will fill the queue. Returns 0 or an errno.
    ///
    /// - Parameter adapts: the queue then follows the provider's lateness; otherwise only missing blocks change its length.
    @_noLocks
    mutating func prime(blocks: Int, adapts: Bool = false, now: Int64) -> Int32 {
        if !isInactive { return 0 }
        phase = .waiting
        primedAt = now
        isAdaptive = adapts
        wasTaken = false
        isInTick = false
        timedBlocks = sentBlocks &+ blocks &+ Self.firstTimed
        queue.restart()
        var sent = 0
        while sent < blocks {
            let code = count(sender.sendSilence(), now: now)
            if code != 0 { return code }
            sent += 1
        }
        return 0
    }

    /// Ends the clocking; the queue is emptied and answers in flight are discarded.
    @_noLocks
    mutating func pause() {
        if isClosed { return }
        phase = .inactive
        let waiting = downlink.available
        _ = downlink.discard(waiting)
        counters.pointee.blocksQueued.set(0)
        counters.pointee.queueBlocks.set(0)
    }

    @_noLocks
    mutating func close() {
        phase = .closed
    }

    /// Sets the directions of the call's audio; takes effect at once while no audio flows.
    @_noLocks
    mutating func setGates(hears: Bool, speaks: Bool) {
        hearing.setMuted(!hears)
        speaking.setMuted(!speaks)
        if isClocked { return }
        hearing.settle()
        speaking.settle()
    }

    /// Returns true once, when the timeout for the first answer ends and the call is clocked without it.
    @_noLocks
    mutating func startAfterTimeout(now: Int64) -> Bool {
        if !isWaiting || now < primedAt &+ Self.answerTimeout { return false }
        phase = .clocked
        startedAt = now
        return true
    }

    /// Reads one message from the socket. Returns 1 after reading one, 2 if that started the clocking, 0 if none was
    /// waiting, or -1 - errno when the descriptor is closed (-1) or broken.
    ///
    /// - Parameter isTimed: it has just arrived; otherwise it may have waited.
    @_noLocks
    mutating func receive(now: Int64, isTimed: Bool = true) -> Int {
        let bytes = btcall_receive_block(descriptor, received, blockBytes + layout.frameBytes)
        if bytes <= 0 {
            if bytes == -Int(EAGAIN) { return 0 }
            return -1 &+ bytes
        }
        countMessage(now: now)
        hasMissedWait = false
        if bytes != blockBytes {
            counters.pointee.blocksBad.add(1)
            return 1
        }
        counters.pointee.blocksReceived.add(1)
        if isTimed {
            newestBlocks = now &- newestAt < Self.marginNanoseconds ? newestBlocks &+ 1 : 1
            newestAt = now
        }
        if isInactive || isClosed {
            counters.pointee.blocksDiscarded.add(1)
            return 1
        }
        if layout.isPlain {
            _ = downlink.write(received.assumingMemoryBound(to: Int16.self), blockFrames)
        } else {
            layout.read(received, blockFrames, into: block)
            _ = downlink.write(block, blockFrames)
        }
        counters.pointee.blocksQueued.set(downlink.available / blockFrames)
        if !isWaiting { return 1 }
        phase = .clocked
        startedAt = now
        return 2
    }

    /// Drops the oldest blocks beyond the limit; they count as lost only if a device should have played them.
    @_noLocks
    mutating func enforceLimit(blocks: Int, isRouted: Bool, now: Int64) {
        let limit = blocks * blockFrames
        while downlink.available > limit {
            _ = downlink.discard(blockFrames)
            if isRouted && isClocked && now > startedAt &+ Self.settling {
                counters.pointee.blocksDropped.add(1)
            } else {
                counters.pointee.blocksDiscarded.add(1)
            }
        }
        counters.pointee.blocksQueued.set(downlink.available / blockFrames)
    }

    /// Whether the next `takeBlock` would have to produce noise, and the provider may still answer in time.
    @_noLocks
    func isAwaited() -> Bool {
        !hasMissedWait && isClocked && downlink.available < blockFrames
    }

    /// The clock has waited as long as it may: a provider that was awaited is not waited for again until it has answered.
    @_noLocks
    mutating func endWait() {
        if isAwaited() { hasMissedWait = true }
    }

    /// Takes the oldest block, as `frames` of the bus; false if the queue is empty, which counts as missing unless the
    /// provider has only just started.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        if downlink.available < blockFrames {
            counters.pointee.blocksMissing.add(1)
            return false
        }
        if isAdaptive && queue.isOff { readChanging() } else { _ = downlink.read(block, blockFrames) }
        let result = toBus.process(block, blockFrames, output, frames)
        if result.made < frames { clear(output + result.made, frames - result.made) }
        counters.pointee.blocksQueued.set(downlink.available / blockFrames)
        return true
    }

    /// Sends one block, given as `frames` of the bus, perhaps doubled ones. Returns 0 or an errno.
    @_noLocks
    mutating func sendBlock(
        _ input: UnsafePointer<Int16>, _ frames: Int, isDoubled: Bool = false, now: Int64 = 0
    ) -> Int32 {
        count(sender.send(input, frames, isDoubled: isDoubled), now: now)
    }

    /// A provider that does not read is not treated as failed.
    @_noLocks
    private mutating func count(_ code: Int32, now: Int64) -> Int32 {
        if code == 0 {
            counters.pointee.blocksSent.add(1)
            sentAt[sentBlocks % Self.ringBlocks] = now
            sentBlocks &+= 1
            if unanswered < Self.ringBlocks { unanswered &+= 1 }
        }
        if code == BlockSender.dropped {
            counters.pointee.blocksUnsent.add(1)
            return 0
        }
        return code
    }
}

// The length of the queue.
extension CallPort {
    /// Notes how far the provider is behind, before a tick takes and sends a block.
    ///
    /// - Parameters:
    ///   - isFair: the provider had time to answer since the tick before.
    ///   - isLate: the clock waited for an answer. Otherwise an answer that is read in the same turn as the tick may have
    ///     come long before, while the thread was late.
    ///   - isTaken: the tick plays a block of this call.
    @_noLocks
    mutating func noteTick(now: Int64, isFair: Bool, isLate: Bool, isTaken: Bool) {
        if isAdaptive {
            // What is too much and silent before the first block that is played goes at once; a word waits for a pause.
            if isTaken && !wasTaken { trim() }
            let waiting = downlink.available / blockFrames
            var fresh = now &- newestAt < Self.marginNanoseconds && (isLate || newestAt != now) ? newestBlocks : 0
            if fresh > waiting { fresh = waiting }
            queue.note(waiting: waiting, unanswered: unanswered, fresh: fresh, isFair: isFair)
        }
        wasTaken = isTaken
        isInTick = true
        counters.pointee.queueBlocks.set(downlink.available / blockFrames &+ unanswered)
    }

    @_noLocks
    private mutating func trim() {
        while downlink.available > blockFrames && downlink.available / blockFrames &+ unanswered > queue.wanted {
            _ = downlink.peek(block, blockFrames, offset: 0)
            if Mixer.peak(block, blockFrames) > ApplicationQueue.inaudible { return }
            _ = downlink.discard(blockFrames)
            counters.pointee.blocksDiscarded.add(1)
        }
    }

    /// Blocks that wait at most while no device takes them, so that the first device does not play everything late.
    ///
    /// - Parameter primed: number of a queue that does not adapt.
    @_noLocks
    func keptBlocks(primed: Int) -> Int {
        if !isAdaptive { return primed }
        let kept = queue.wanted > ApplicationQueue.firstBlocks ? queue.wanted : ApplicationQueue.firstBlocks
        return kept > unanswered ? kept &- unanswered : 0
    }

    /// How long a link's clock may wait for the provider while the queue is empty; `most` if the queue does not adapt.
    ///
    /// A short queue would otherwise make the headset wait for a provider that is late: the headset would hear a gap, and
    /// its controller be behind by as much from then on. A noise block is the lesser evil. But right after a burst of ticks
    /// the provider gets its time.
    @_noLocks
    func answerWait(most: Int64, now: Int64) -> Int64 {
        if !isAdaptive { return most }
        if unanswered <= 0 { return 0 }
        let oldest = sentAt[(sentBlocks &- unanswered) % Self.ringBlocks]
        let left = Self.answerNanoseconds &- (now &- oldest)
        return left < Self.graceNanoseconds ? Self.graceNanoseconds : left < most ? left : most
    }

    /// Reads the next block into `block`, and in a pause makes the queue one block longer or shorter.
    @_noLocks
    private mutating func readChanging() {
        _ = downlink.peek(block, blockFrames, offset: 0)
        let isFollowed = downlink.peek(following, blockFrames, offset: blockFrames) == blockFrames
        let next = isFollowed ? Mixer.peak(following, blockFrames) : -1
        switch queue.step(peak: Mixer.peak(block, blockFrames), next: next) {
        case .play: _ = downlink.discard(blockFrames)
        case .again: counters.pointee.blocksRepeated.add(1)
        case .skip:
            fade.start()
            fade.blend(from: block, to: following, into: block, blockFrames)
            _ = downlink.discard(2 &* blockFrames)
            counters.pointee.blocksSkipped.add(1)
        }
    }
}

/// Zeroes `count` samples. A plain loop: the compiler turns it into memset, and the thread sanitizer sees it.
@_noLocks
func clear(_ samples: UnsafeMutablePointer<Int16>, _ count: Int) {
    var index = 0
    while index < count {
        samples[index] = 0
        index += 1
    }
}
