import AudioDSP
import CBTCall

typealias PCMPointer = UnsafeMutablePointer<PCMPort>

/// The thread's side of a stream of the ALSA PCM: reads from a ring, or writes to it, 10 ms at a time, and so clocks it
/// (pcm_protocol.h). It never waits for a late client: the ring's time advances.
///
/// The client may write anything anywhere in the ring at any time. Positions are bounded by our own size, and samples are
/// copied before use.
struct PCMPort: ~Copyable {
    let id: UInt32
    let isCapture: Bool
    /// The client follows our clock; otherwise its own.
    private(set) var isEngaged = false
    private let ring: UnsafeMutablePointer<btcall_pcm_ring>
    private let samples: UnsafeMutableRawPointer
    private let wakeDescriptor: Int32
    /// Sample rate in Hz.
    let rate: Int
    private let bus: BusRates
    private var busRate: Int
    private let layout: SampleLayout
    /// The client writes pairs of 16 bit.
    var isPairs: Bool { @_noLocks get { layout.isPairs } }
    private let bufferFrames: Int
    private let periodFrames: Int
    /// Frames played since the client was woken.
    private var framesSinceWake = 0
    /// How many blocks of 10 ms the client's playback may lose at once: its period, and no more than a quarter of its buffer. 1
    /// until the thread is its clock, because the client's own clock runs until the first block.
    var ticksAtOnce: Int { @_noLocks get { isEngaged ? mostTicksAtOnce : 1 } }
    private let mostTicksAtOnce: Int
    /// Frames played or captured since `setLatency`.
    private var framesSinceLatency = 0
    /// Frames in 10 ms.
    let blockFrames: Int
    /// The converter of a playback stream, and that of a capture stream.
    private var toBus: ToBus
    private var fromBus: FromBus
    /// `takeBlock` gives doubled audio (see `Resampler`).
    var doubles: Bool { @_noLocks get { toBus.doubles } }
    private let block: UnsafeMutablePointer<Int16>
    /// A block in the ring's layout.
    private let message: UnsafeMutableRawPointer
    private var latency = 0

    /// - Parameter memory: owned by the control side until this port has been released.
    init(id: UInt32, _ memory: PCMMemory, bus: BusRates) {
        self.id = id
        isCapture = memory.isCapture
        ring = memory.ring
        samples = memory.samples
        wakeDescriptor = memory.wakeDescriptor
        rate = memory.rate
        self.bus = bus
        busRate = bus.lowest
        layout = memory.layout
        bufferFrames = memory.bufferFrames
        periodFrames = memory.periodFrames
        mostTicksAtOnce = max(1, min(memory.periodFrames, memory.bufferFrames / 4) / (memory.rate / 100))
        blockFrames = rate / 100
        toBus = ToBus(from: rate, bus: isCapture ? BusRates(rate) : bus)
        fromBus = FromBus(to: rate, bus: isCapture ? bus : BusRates(rate))
        block = .allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        message = .allocate(byteCount: blockFrames * layout.frameBytes, alignment: 16)
        message.initializeMemory(as: UInt8.self, repeating: 0, count: blockFrames * layout.frameBytes)
    }

    deinit {
        block.deallocate()
        message.deallocate()
    }

    /// Sets the rate of the bus before the first block.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        toBus.set(index)
        fromBus.set(index)
        busRate = bus.rate(index)
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
        fromBus.change(to: index, after: last, frames)
        busRate = bus.rate(index)
    }

    /// Makes the thread the stream's clock.
    @_noLocks
    mutating func engage() {
        if isEngaged { return }
        isEngaged = true
        latency = 0
        framesSinceWake = 0
        framesSinceLatency = 0
        btcall_pcm_set_latency(ring, 0)
        toBus.reset()
        fromBus.reset()
        btcall_pcm_engage(ring, 1)
        btcall_pcm_signal(wakeDescriptor)
    }

    /// Returns the clock to the client.
    @_noLocks
    mutating func disengage() {
        if !isEngaged { return }
        isEngaged = false
        btcall_pcm_engage(ring, 0)
        btcall_pcm_signal(wakeDescriptor)
    }

    /// Takes the next 10 ms that the client has written, as `frames` of the bus; false when it has written none of them.
    @_noLocks
    mutating func takeBlock(_ output: UnsafeMutablePointer<Int16>, _ frames: Int) -> Bool {
        let there = fetch(into: message)
        layout.read(message, there, into: block)
        if there < blockFrames { clear(block + there, blockFrames - there) }
        let result = toBus.process(block, blockFrames, output, frames)
        if result.made < frames { clear(output + result.made, frames - result.made) }
        return there > 0
    }

    /// As `takeBlock`, as pairs at the stream's own rate.
    @_noLocks
    mutating func takePairs(_ output: UnsafeMutablePointer<Int16>) -> Bool {
        let there: Int
        if layout.isPairs {
            there = fetch(into: output)
        } else {
            there = fetch(into: message)
            layout.readPairs(message, there, into: output)
        }
        if there < blockFrames { clear(output + 2 * there, 2 * (blockFrames - there)) }
        return there > 0
    }

    /// Copies the available part of the next 10 ms, in the ring's layout, and advances the ring by 10 ms. Returns the frames.
    @_noLocks
    private mutating func fetch(into copy: UnsafeMutableRawPointer) -> Int {
        engage()
        let ahead = btcall_pcm_ahead(ring)
        let there = ahead < 0 ? 0 : ahead < Int64(blockFrames) ? Int(ahead) : blockFrames
        let first = position()
        let untilEnd = bufferFrames - first < there ? bufferFrames - first : there
        let frameBytes = layout.frameBytes
        if untilEnd > 0 { btcall_move(copy, samples + first * frameBytes, untilEnd * frameBytes) }
        if there > untilEnd { btcall_move(copy + untilEnd * frameBytes, samples, (there - untilEnd) * frameBytes) }
        played(blockFrames, there, ahead: ahead)
        return there
    }

    /// Appends the next `blocks` times 10 ms of a client that writes pairs (`isPairs`) to a queue of pairs, silence where it
    /// has written none, and advances the ring by as much. Returns how many of the blocks have any of its audio.
    ///
    /// - Parameter queue: has room for these blocks.
    @_noLocks
    mutating func passPairs(_ blocks: Int, into queue: borrowing SampleRing) -> Int {
        engage()
        let wanted = blocks * blockFrames
        let ahead = btcall_pcm_ahead(ring)
        // A client may claim any number; the ring has no more than this.
        let most = wanted < bufferFrames ? wanted : bufferFrames
        let there = ahead < 0 ? 0 : ahead < Int64(most) ? Int(ahead) : most
        let first = position()
        let untilEnd = bufferFrames - first < there ? bufferFrames - first : there
        let pairs = samples.assumingMemoryBound(to: Int16.self)
        _ = queue.write(pairs + 2 * first, 2 * untilEnd)
        if there > untilEnd { _ = queue.write(pairs, 2 * (there - untilEnd)) }
        if there < wanted { _ = queue.write(silence: 2 * (wanted - there)) }
        played(wanted, there, ahead: ahead)
        return (there + blockFrames - 1) / blockFrames
    }

    /// Advances the ring of a client that plays, and wakes the client if it must.
    ///
    /// - Parameters:
    ///   - frames: of the elapsed time.
    ///   - there: frames of the client's audio in it; the rest is counted as missing.
    ///   - ahead: frames that the client had written before it.
    @_noLocks
    private mutating func played(_ frames: Int, _ there: Int, ahead: Int64) {
        if there < frames { btcall_pcm_add_missing(ring, UInt64(frames - there)) }
        moveOn(frames)
        if mustWake(after: frames, ahead: ahead) { btcall_pcm_signal(wakeDescriptor) }
    }

    /// Whether to wake a client that plays, after `frames` frames of its time: at the end of each of its periods, as soon as
    /// it has room for one, and when nothing is left. A sound card wakes at the end of a period only.
    ///
    /// - Parameter ahead: frames that the client had written before these. If it has written more since, it is awake.
    @_noLocks
    private mutating func mustWake(after frames: Int, ahead: Int64) -> Bool {
        framesSinceWake += frames
        let left = ahead &- Int64(frames)
        let fullest = Int64(bufferFrames - periodFrames)
        let hasNewRoom = ahead > fullest && left <= fullest
        if framesSinceWake < periodFrames && left > 0 && !hasNewRoom { return false }
        framesSinceWake = 0
        return true
    }

    /// Gives the client 10 ms, passed as `frames` of the bus, perhaps doubled ones.
    @_noLocks
    mutating func giveBlock(_ input: UnsafePointer<Int16>, _ frames: Int, isDoubled: Bool = false) {
        engage()
        let result = fromBus.process(input, frames, block, blockFrames, isDoubled: isDoubled)
        if result.made < blockFrames { clear(block + result.made, blockFrames - result.made) }
        layout.write(block, blockFrames, to: message)
        let first = position()
        let untilEnd = bufferFrames - first < blockFrames ? bufferFrames - first : blockFrames
        let frameBytes = layout.frameBytes
        btcall_move(samples + first * frameBytes, message, untilEnd * frameBytes)
        if blockFrames > untilEnd {
            btcall_move(samples, message + untilEnd * frameBytes, (blockFrames - untilEnd) * frameBytes)
        }
        moveOn(blockFrames)
        btcall_pcm_signal(wakeDescriptor)
    }

    /// Publishes the delay to the ear, or from the mouth, for the client; call after each block, or after several.
    ///
    /// A recorder that derives its samples' time from clock and delay would go back in time if the delay grew faster than
    /// time passes, as when the thread becomes the clock. The delay therefore changes by a tenth of the elapsed time.
    ///
    /// - Parameter busFrames: frames queued in between.
    @_noLocks
    mutating func setLatency(_ busFrames: Int) {
        let step = framesSinceLatency / 10
        framesSinceLatency = 0
        let own = isCapture ? fromBus.delayFrames : toBus.delayFrames * rate / busRate
        let frames = (busFrames < 0 ? 0 : busFrames) * rate / busRate + own
        if frames == latency || step == 0 { return }
        latency = frames > latency + step ? latency + step : frames < latency - step ? latency - step : frames
        btcall_pcm_set_latency(ring, UInt32(truncatingIfNeeded: latency))
    }

    @_noLocks
    private func position() -> Int {
        Int(btcall_pcm_hardware(ring) % UInt64(bufferFrames))
    }

    @_noLocks
    private mutating func moveOn(_ frames: Int) {
        btcall_pcm_advance(ring, UInt64(frames))
        framesSinceLatency += frames
    }
}
