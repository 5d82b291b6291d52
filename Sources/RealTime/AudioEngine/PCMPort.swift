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
    private let busRate: Int
    private let layout: SampleLayout
    private let bufferFrames: Int
    /// Frames in 10 ms.
    let blockFrames: Int
    private var converter: Resampler
    /// `takeBlock` gives doubled audio (see `Resampler`).
    var doubles: Bool { @_noLocks get { converter.doubles } }
    private let block: UnsafeMutablePointer<Int16>
    /// A block in the ring's layout.
    private let message: UnsafeMutableRawPointer
    private var latency = 0

    /// - Parameter memory: owned by the control side until this port has been released.
    init(id: UInt32, _ memory: PCMMemory, busRate: Int) {
        self.id = id
        isCapture = memory.isCapture
        ring = memory.ring
        samples = memory.samples
        wakeDescriptor = memory.wakeDescriptor
        rate = memory.rate
        self.busRate = busRate
        layout = memory.layout
        bufferFrames = memory.bufferFrames
        blockFrames = rate / 100
        converter = isCapture ? Resampler(from: busRate, to: rate) : Resampler(from: rate, to: busRate)
        block = .allocate(capacity: blockFrames)
        block.initialize(repeating: 0, count: blockFrames)
        message = .allocate(byteCount: blockFrames * layout.frameBytes, alignment: 16)
        message.initializeMemory(as: UInt8.self, repeating: 0, count: blockFrames * layout.frameBytes)
    }

    deinit {
        block.deallocate()
        message.deallocate()
    }

    /// Makes the thread the stream's clock.
    @_noLocks
    mutating func engage() {
        if isEngaged { return }
        isEngaged = true
        latency = 0
        btcall_pcm_set_latency(ring, 0)
        converter.reset()
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
        let there = fetch()
        layout.read(message, there, into: block)
        if there < blockFrames { clear(block + there, blockFrames - there) }
        let result = converter.process(block, blockFrames, output, frames)
        if result.made < frames { clear(output + result.made, frames - result.made) }
        return there > 0
    }

    /// As `takeBlock`, as pairs at the stream's own rate.
    @_noLocks
    mutating func takePairs(_ output: UnsafeMutablePointer<Int16>) -> Bool {
        let there = fetch()
        layout.readPairs(message, there, into: output)
        if there < blockFrames { clear(output + 2 * there, 2 * (blockFrames - there)) }
        return there > 0
    }

    /// Copies the available part of the next 10 ms to `message` and advances the ring by 10 ms. Returns the frames.
    @_noLocks
    private mutating func fetch() -> Int {
        engage()
        let ahead = btcall_pcm_ahead(ring)
        let there = ahead < 0 ? 0 : ahead < Int64(blockFrames) ? Int(ahead) : blockFrames
        let first = position()
        let untilEnd = bufferFrames - first < there ? bufferFrames - first : there
        let frameBytes = layout.frameBytes
        if untilEnd > 0 { btcall_move(message, samples + first * frameBytes, untilEnd * frameBytes) }
        if there > untilEnd { btcall_move(message + untilEnd * frameBytes, samples, (there - untilEnd) * frameBytes) }
        if there < blockFrames { btcall_pcm_add_missing(ring, UInt64(blockFrames - there)) }
        moveOn()
        return there
    }

    /// Gives the client 10 ms, passed as `frames` of the bus, perhaps doubled ones.
    @_noLocks
    mutating func giveBlock(_ input: UnsafePointer<Int16>, _ frames: Int, isDoubled: Bool = false) {
        engage()
        let result = converter.process(input, frames, block, blockFrames, isDoubled: isDoubled)
        if result.made < blockFrames { clear(block + result.made, blockFrames - result.made) }
        layout.write(block, blockFrames, to: message)
        let first = position()
        let untilEnd = bufferFrames - first < blockFrames ? bufferFrames - first : blockFrames
        let frameBytes = layout.frameBytes
        btcall_move(samples + first * frameBytes, message, untilEnd * frameBytes)
        if blockFrames > untilEnd {
            btcall_move(samples, message + untilEnd * frameBytes, (blockFrames - untilEnd) * frameBytes)
        }
        moveOn()
    }

    /// Publishes the delay to the ear, or from the mouth, for the client; call once a block.
    ///
    /// A recorder that derives its samples' time from clock and delay would go back in time if the delay grew faster than
    /// time passes, as when the thread becomes the clock. The delay therefore changes by a tenth of the elapsed time.
    ///
    /// - Parameter busFrames: frames queued in between.
    @_noLocks
    mutating func setLatency(_ busFrames: Int) {
        let own = isCapture ? converter.delayFrames : converter.delayFrames * rate / busRate
        let frames = (busFrames < 0 ? 0 : busFrames) * rate / busRate + own
        if frames == latency { return }
        let step = blockFrames / 10
        latency = frames > latency + step ? latency + step : frames < latency - step ? latency - step : frames
        btcall_pcm_set_latency(ring, UInt32(truncatingIfNeeded: latency))
    }

    @_noLocks
    private func position() -> Int {
        Int(btcall_pcm_hardware(ring) % UInt64(bufferFrames))
    }

    @_noLocks
    private func moveOn() {
        btcall_pcm_advance(ring, UInt64(blockFrames))
        btcall_pcm_signal(wakeDescriptor)
    }
}
