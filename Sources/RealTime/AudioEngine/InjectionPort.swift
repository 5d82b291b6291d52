import AudioDSP
import CBTCall
import Glibc

/// The thread's side of what an application adds to the microphone (`Audio1.OpenInjection`): a socket that is read as
/// fast as the far end hears it, one message or 10 ms of a stream in each tick.
///
/// What has not been read waits in the socket, which makes the application wait in turn. Its queue is one channel of
/// 16 bit at the application's rate.
struct InjectionPort: ~Copyable {
    /// Read ahead, so that an application that is woken by the room that has become is in time with its next block.
    static var queueBlocks: Int { @_noLocks get { 2 } }
    /// Taken in one tick at most.
    static var mostMessages: Int { @_noLocks get { 16 } }
    /// Thrown away in one turn of the thread at most.
    static var mostForgotten: Int { @_noLocks get { 32 } }

    let id: UInt32
    let descriptor: Int32
    let counters: UnsafeMutablePointer<InjectionCounters>
    /// The application has closed its end, or the socket is broken: what is queued is still given out.
    private(set) var isClosed = false
    /// Where its descriptor stands in the poll set; -1: nowhere.
    var pollIndex = -1

    private let layout: SampleLayout
    private let isStream: Bool
    private let blockFrames: Int
    private let blockBytes: Int
    private var queue: SampleRing
    private var toBus: Resampler
    private let block: UnsafeMutablePointer<Int16>
    /// A message, or what has come of a stream's block; one frame longer, so that a message that is too long shows.
    private let received: UnsafeMutableRawPointer
    private var receivedBytes = 0
    /// The last tick took a block: the next one that finds none is an underrun.
    private var isPlaying = false
    /// The last tick found a part of a block.
    private var isPartial = false
    /// Bytes that wait in the socket and are still to be thrown away.
    private var forgotten = 0

    /// - Parameter counters: owned by the control side, which frees it after this port.
    init(
        id: UInt32, descriptor: Int32, rate: Int, layout: SampleLayout, isStream: Bool, busRate: Int,
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
        toBus = Resampler(from: rate, to: busRate)
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

    /// Nothing more comes, and nothing is left of what came.
    var isSpent: Bool { @_noLocks get { isClosed && queue.available == 0 && !isPlaying } }

    /// Nobody hears it any more: what has been written is thrown away, so that it is not said to somebody else.
    @_noLocks
    mutating func forget() {
        // What is there now: a writer that waited for room goes on meanwhile.
        forgotten = btcall_waiting_bytes(descriptor)
        isPlaying = false
        isPartial = false
        throwAway()
    }

    /// Nothing is heard of it before all that is to be thrown away has been.
    var isForgetting: Bool { @_noLocks get { forgotten > 0 } }

    /// A socket full of tiny messages takes more than one turn of the thread.
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

    /// The socket says that the other end is closed, while nobody hears what is in it.
    @_noLocks
    mutating func hungUp() {
        isClosed = true
        forgotten = 0
        isPlaying = false
        dropQueue()
    }

    /// Makes the next 10 ms, as `frames` of the bus; false when the application has nothing to say.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        if isForgetting { return false }
        fill()
        // The rest of a block was waited for once, and has not come.
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
            // A pause, or the end. Behind the last block comes what the converter still has of it.
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

    /// A writer of tiny messages does not keep the thread: what it has written waits for the next tick.
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

    /// Returns the bytes that were taken, 0 when there are none.
    @_noLocks
    private mutating func receive() -> Int {
        if isClosed { return 0 }
        return isStream ? receivePart() : receiveMessage()
    }

    /// Takes one message, of at most 10 ms. Returns its bytes, 0 when there is none.
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

    /// Takes what has come of a stream, up to the end of its block. Returns the bytes, 0 when there are none.
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

    /// Queues the whole frames of what has come of a stream's block; a part of a frame waits for the rest.
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
