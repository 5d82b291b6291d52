import AudioDSP
import CBTCall
import Glibc

/// The thread's side of an application's audio for the uplink (`Audio1.OpenInjection`): a socket that is read as fast as the
/// far end plays it, one message or 10 ms of a stream each tick.
///
/// Unread data stays in the socket and so makes the application wait. The queue is one channel of 16 bit at the
/// application's rate.
struct InjectionPort: ~Copyable {
    /// Blocks read ahead, so that an application woken by free room delivers its next block in time.
    static var queueBlocks: Int { @_noLocks get { 2 } }
    /// Maximum messages read in one tick.
    static var mostMessages: Int { @_noLocks get { 16 } }
    /// Maximum messages discarded in one turn of the thread.
    static var mostForgotten: Int { @_noLocks get { 32 } }

    let id: UInt32
    let descriptor: Int32
    let counters: UnsafeMutablePointer<InjectionCounters>
    /// The application has closed its end, or the socket is broken; queued audio is still played.
    private(set) var isClosed = false
    /// Index in the poll set; -1 if not polled.
    var pollIndex = -1

    private let layout: SampleLayout
    private let isStream: Bool
    private let blockFrames: Int
    private let blockBytes: Int
    private var queue: SampleRing
    private var toBus: ToBus
    private let block: UnsafeMutablePointer<Int16>
    /// A message, or the received part of a stream's block; one frame longer, so that an oversized message is detected.
    private let received: UnsafeMutableRawPointer
    private var receivedBytes = 0
    /// The last tick took a block: an empty next tick is an underrun.
    private var isPlaying = false
    /// The last tick found only part of a block.
    private var isPartial = false
    /// Bytes waiting in the socket that still have to be discarded.
    private var forgotten = 0

    /// - Parameter counters: owned by the control side, which frees it after this port.
    init(
        id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool, bus: BusRates,
        counters: UnsafeMutablePointer<InjectionCounters>
    ) {
        self.id = id
        self.descriptor = descriptor
        self.layout = layout
        self.isStream = isStream
        self.counters = counters
        blockFrames = rate / 100
        blockBytes = blockFrames * layout.frameBytes
        queue = SampleRing(capacity: blockFrames * (Self.queueBlocks + 1))
        toBus = ToBus(from: rate, bus: bus)
        block = UnsafeMutablePointer<Int16>.allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        let room = blockBytes + layout.frameBytes
        received = UnsafeMutableRawPointer.allocate(byteCount: room, alignment: 16)
        received.initializeMemory(as: UInt8.self, repeating: 0, count: room)
    }

    deinit {
        block.deallocate()
        received.deallocate()
    }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) { toBus.set(index) }

    /// Prepares for another rate of the bus; a negative index ends that.
    @_noLocks
    mutating func prepareBus(_ index: Int) { toBus.prepare(index) }

    /// Continues at another rate of the bus.
    @_noLocks
    mutating func changeBus(to index: Int) { toBus.change(to: index) }

    /// Closed, and all received audio has been played.
    var isSpent: Bool { @_noLocks get { isClosed && queue.available == 0 && !isPlaying } }

    /// Discards unread data because nobody hears it any more, so that it is not played to another party.
    @_noLocks
    mutating func forget() {
        // Only the bytes that wait now: a blocked writer continues meanwhile.
        forgotten = btcall_waiting_bytes(descriptor)
        isPlaying = false
        isPartial = false
        throwAway()
    }

    /// Nothing is played until all data to be discarded is gone.
    var isForgetting: Bool { @_noLocks get { forgotten > 0 } }

    /// Discards waiting data; a socket full of tiny messages takes several turns of the thread.
    @_noLocks
    mutating func goOnForgetting() {
        if isForgetting { throwAway() }
    }

    @_noLocks
    private mutating func throwAway() {
        var turns = Self.mostForgotten
        while turns > 0 && forgotten > 0 {
            turns &-= 1
            let bytes = receive()
            forgotten = bytes > 0 ? forgotten &- bytes : 0
            dropQueue()
        }
        if isForgetting { return }
        forgotten = 0
        enqueuePart()
        dropQueue()
    }

    /// Handles a hang-up of the socket while nobody hears its audio.
    @_noLocks
    mutating func hungUp() {
        isClosed = true
        forgotten = 0
        isPlaying = false
        dropQueue()
    }

    /// Produces the next 10 ms, as `frames` of the bus; false when the application has no audio.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        if isForgetting { return false }
        fill()
        // The rest of the block did not arrive within one tick.
        if isPartial && queue.available < blockFrames { enqueuePart() }
        let there = queue.available < blockFrames ? queue.available : blockFrames
        let isPart = there < blockFrames && (there > 0 || receivedBytes >= layout.frameBytes)
        if isPart && !isClosed && !isPartial {
            isPartial = true
            if isPlaying { counters.pointee.blocksMissing.add(1) }
            return false
        }
        isPartial = false
        if there == 0 {
            if !isPlaying { return false }
            // A pause, or the end. The resampler's tail follows the last block.
            isPlaying = false
            if !isClosed { counters.pointee.blocksMissing.add(1) }
        } else {
            isPlaying = true
            counters.pointee.blocksTaken.add(1)
        }
        _ = queue.read(block, there)
        if there < blockFrames { clear(block + there, blockFrames - there) }
        let result = toBus.process(block, blockFrames, output, frames)
        if result.made < frames { clear(output + result.made, frames - result.made) }
        return true
    }

    /// Reads up to the tick's limit: a writer of tiny messages must not occupy the thread; its rest waits for the next tick.
    @_noLocks
    private mutating func fill() {
        var left = Self.mostMessages
        while left > 0 && queue.available < blockFrames * Self.queueBlocks && receive() > 0 { left &-= 1 }
    }

    @_noLocks
    private mutating func dropQueue() {
        let waiting = queue.available
        _ = queue.discard(waiting)
    }

    /// Returns the number of bytes read; 0 when none are waiting.
    @_noLocks
    private mutating func receive() -> Int {
        if isClosed { return 0 }
        return isStream ? receivePart() : receiveMessage()
    }

    /// Reads one message of at most 10 ms. Returns its bytes; 0 when none is waiting.
    @_noLocks
    private mutating func receiveMessage() -> Int {
        let bytes = btcall_receive_block(descriptor, received, blockBytes + layout.frameBytes)
        if bytes == -Int(EAGAIN) { return 0 }
        if bytes <= 0 {
            isClosed = true
            return 0
        }
        if bytes > blockBytes || bytes % layout.frameBytes != 0 {
            counters.pointee.blocksBad.add(1)
        } else {
            enqueue(bytes)
        }
        return bytes
    }

    /// Reads a stream's data up to the end of its block. Returns the bytes; 0 when none are waiting.
    @_noLocks
    private mutating func receivePart() -> Int {
        let bytes = btcall_receive_part(descriptor, received + receivedBytes, blockBytes - receivedBytes)
        if bytes == -Int(EAGAIN) { return 0 }
        if bytes <= 0 {
            isClosed = true
            enqueue(receivedBytes)
            return 0
        }
        receivedBytes += bytes
        if receivedBytes == blockBytes { enqueue(blockBytes) }
        return bytes
    }

    /// Queues the whole frames received of a stream's block; a partial frame waits for its rest.
    @_noLocks
    private mutating func enqueuePart() {
        let rest = receivedBytes % layout.frameBytes
        let whole = receivedBytes - rest
        if whole == 0 { return }
        enqueue(whole)
        if rest > 0 { btcall_move(received, received + whole, rest) }
        receivedBytes = rest
    }

    /// Queues the whole frames of what was received.
    @_noLocks
    private mutating func enqueue(_ bytes: Int) {
        receivedBytes = 0
        let frames = bytes / layout.frameBytes
        if frames == 0 { return }
        layout.read(received, frames, into: block)
        _ = queue.write(block, frames)
        counters.pointee.blocksReceived.add(1)
    }
}
