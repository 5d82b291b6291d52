import AudioDSP
import CBTCall
import Glibc

/// The thread's side of one call: a packet socket to the provider, one message every 10 ms (docs/Applications.md). Its queue
/// is one channel of 16 bit at the call's rate, whatever the message layout.
///
/// The provider answers each received block with one. The blocks in flight and in the queue therefore always equal the
/// number sent first (`prime`), however unevenly the clock ticks.
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
    /// Sent blocks without an answer yet, at most a queue.
    private var unanswered = 0
    /// Unsolicited messages, and when their count is reset.
    private var unasked = 0
    private var unaskedUntil: Int64 = 0
    /// Nothing is read from the provider for now, unless it has closed.
    var isResting: Bool { @_noLocks get { unasked >= Self.mostUnasked } }

    /// Gains of the far end's audio towards the user and of the uplink towards the far end, for calls with one direction
    /// only.
    var hearing: Gain
    var speaking: Gain

    private let layout: SampleLayout
    private let blockBytes: Int
    private var downlink: SampleRing
    private var toBus: Resampler
    /// `takeBlock` gives doubled audio (see `Resampler`).
    var doubles: Bool { @_noLocks get { toBus.doubles } }
    private var sender: BlockSender
    private let block: UnsafeMutablePointer<Int16>
    /// A received message; one frame longer than a block, so that an oversized message is detected.
    private let received: UnsafeMutableRawPointer

    /// - Parameter counters: owned by the control side, which frees it after this port.
    init(
        id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout, busRate: Int,
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
        toBus = Resampler(from: rate, to: busRate)
        hearing = Gain(rate: busRate)
        speaking = Gain(rate: busRate)
        sender = BlockSender(descriptor: descriptor, rate: rate, layout: layout, busRate: busRate)
        block = UnsafeMutablePointer<Int16>.allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        let room = blockBytes + layout.frameBytes
        received = .allocate(byteCount: room, alignment: 16)
        received.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    }

    deinit {
        block.deallocate()
        received.deallocate()
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
    @_noLocks
    mutating func prime(blocks: Int, now: Int64) -> Int32 {
        if !isInactive { return 0 }
        phase = .waiting
        primedAt = now
        var sent = 0
        while sent < blocks {
            let code = count(sender.sendSilence())
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
    @_noLocks
    mutating func receive(now: Int64) -> Int {
        let bytes = btcall_receive_block(descriptor, received, blockBytes + layout.frameBytes)
        if bytes <= 0 {
            if bytes == -Int(EAGAIN) { return 0 }
            return -1 &+ bytes
        }
        countMessage(now: now)
        if bytes != blockBytes {
            counters.pointee.blocksBad.add(1)
            return 1
        }
        counters.pointee.blocksReceived.add(1)
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

    /// Whether the next `takeBlock` would have to produce noise.
    @_noLocks
    func isEmpty() -> Bool {
        isClocked && downlink.available < blockFrames
    }

    /// Takes the oldest block, as `frames` of the bus; false if the queue is empty, which counts as missing unless the
    /// provider has only just started.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        if downlink.available < blockFrames {
            counters.pointee.blocksMissing.add(1)
            return false
        }
        _ = downlink.read(block, blockFrames)
        let result = toBus.process(block, blockFrames, output, frames)
        if result.made < frames { clear(output + result.made, frames - result.made) }
        counters.pointee.blocksQueued.set(downlink.available / blockFrames)
        return true
    }

    /// Sends one block, given as `frames` of the bus, perhaps doubled ones. Returns 0 or an errno.
    @_noLocks
    mutating func sendBlock(_ input: UnsafePointer<Int16>, _ frames: Int, isDoubled: Bool = false) -> Int32 {
        count(sender.send(input, frames, isDoubled: isDoubled))
    }

    /// A provider that does not read is not treated as failed.
    @_noLocks
    private mutating func count(_ code: Int32) -> Int32 {
        if code == 0 {
            counters.pointee.blocksSent.add(1)
            if unanswered < Self.ringBlocks { unanswered &+= 1 }
        }
        if code == BlockSender.dropped {
            counters.pointee.blocksUnsent.add(1)
            return 0
        }
        return code
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
