import AudioDSP
import BluetoothTypes
import CBTCall
import Glibc

typealias StreamPointer = UnsafeMutablePointer<StreamPort>

/// The thread's side of a stream over A2DP: takes 10 ms of the bus and of programs' stereo audio, sends packets.
///
/// Its clock is the ticks that give it audio; the socket provides flow control. A packet that the socket does not accept
/// waits, with unencoded audio behind it. Audio that grows too old is dropped there, so that packet numbers stay contiguous
/// and timestamps tell the length of the gap.
struct StreamPort: ~Copyable {
    /// Queue limit in milliseconds; beyond it the oldest audio is dropped.
    static var longestQueue: Int { @_noLocks get { 150 } }
    /// Maximum packet length in milliseconds: at low rates fifteen codec frames would be 120.
    private static var longestPacket: Int { @_noLocks get { 50 } }

    let descriptor: Int32
    /// Sample rate of the codec in Hz.
    let rate: Int
    /// Delay from the socket to the ear as reported by the headset, in milliseconds.
    var delayMilliseconds = 0
    /// Gain of both sides of the calls for a listener; ramped.
    private var listening: Gain
    private(set) var isListening = false
    /// Gate of all audio at the beginning and end.
    private var gate: Gain
    /// Volume of audio that bypasses the bus.
    private var speaker: Gain

    private let bus: BusRates
    /// Frames in 10 ms at the codec's rate.
    private let blockFrames: Int
    private let channels: Int
    private let codecFrameSamples: Int
    private let codecRate: Int
    private var encoder: SBCEncoder
    private var packetizer: MediaPacketizer
    private var bitpools: BitpoolController
    private var fromBus: FromBus
    /// The last block of the bus was digital silence.
    private var isBusQuiet = false
    private let lanes: UnsafeMutablePointer<StreamLane>
    private let laneCount: Int
    /// Interleaved samples at the codec's rate.
    private var queue: SampleRing
    /// Number of the queue's first frame.
    private var timestamp: UInt32 = 0
    /// A finished packet that the socket has not accepted yet.
    private(set) var isWaiting = false
    /// The socket is full; poll reports when it has room.
    private(set) var isBlocked = false
    private var waitingFrames = 0
    private var isCounted = false
    /// The rest was padded to a whole codec frame, to be sent completely.
    private var isFilled = false
    /// Frames that the filters of encoder and decoder hold back.
    private let codecDelay: Int
    private let mono: UnsafeMutablePointer<Int16>
    private let pairs: UnsafeMutablePointer<Int16>
    /// Samples of one codec frame.
    private let piece: UnsafeMutablePointer<Int16>
    /// 10 ms of a program's pairs at any rate, before they are added to the lane; 10 ms of a lane before they are added to
    /// another's.
    private let scratch: UnsafeMutablePointer<Int16>
    private static let mostBlockFrames = 480

    /// - Parameters:
    ///   - bitpool: gives codec frames that fit into packets.
    ///   - rates: rates at which programs may play.
    init(_ stream: MediaStream, bitpool: Int, bus: BusRates, rates: [Int], speakerGain: Float) {
        let configuration = stream.configuration
        descriptor = stream.descriptor
        rate = configuration.rate
        codecRate = configuration.rate
        self.bus = bus
        blockFrames = configuration.rate / 100
        channels = configuration.channels
        codecFrameSamples = configuration.codecFrameSamples
        codecDelay = 9 * configuration.subbands + 1
        encoder = SBCEncoder(configuration, bitpool: bitpool)
        packetizer = MediaPacketizer(capacity: stream.writeMTU)
        bitpools = BitpoolController(highest: bitpool, minimum: configuration.minimumBitpool)
        fromBus = FromBus(to: configuration.rate, bus: bus)
        laneCount = rates.count
        lanes = .allocate(capacity: rates.count)
        for (index, each) in rates.enumerated() {
            (lanes + index).initialize(to: StreamLane(rate: each, to: configuration.rate))
        }
        // Leaves room for the next tick and for an incomplete packet.
        queue = SampleRing(capacity: configuration.rate * channels / 2)
        listening = Gain(rate: bus.lowest)
        listening.setMuted(true)
        listening.settle()
        gate = Gain(rate: configuration.rate, gain: 1)
        speaker = Gain(rate: configuration.rate, gain: speakerGain)
        mono = Self.samples(Self.mostBlockFrames)
        pairs = Self.samples(2 * Self.mostBlockFrames)
        piece = Self.samples(2 * codecFrameSamples)
        scratch = Self.samples(2 * Self.mostBlockFrames)
    }

    private static func samples(_ count: Int) -> UnsafeMutablePointer<Int16> {
        let samples = UnsafeMutablePointer<Int16>.allocate(capacity: count)
        samples.initialize(repeating: 0, count: count)
        return samples
    }

    deinit {
        lanes.deinitialize(count: laneCount).deallocate()
        mono.deallocate()
        pairs.deallocate()
        piece.deallocate()
        scratch.deallocate()
    }

    // MARK: Beginning and end

    /// - Parameter isSudden: the source does not fade in its first samples.
    @_noLocks
    mutating func start(fadesIn isSudden: Bool) {
        gate.setMuted(isSudden)
        gate.settle()
        gate.setMuted(false)
    }

    /// Fades out within 20 ms of audio.
    @_noLocks
    mutating func fadeOut() { gate.setMuted(true) }

    var bitpool: Int { encoder.bitpool }

    var isFadedOut: Bool { @_noLocks get { gate.isSilent } }

    /// Sends the rest, padded with silence for the codec's delay up to a whole codec frame; true when nothing is left. The
    /// code is an errno.
    @_noLocks
    mutating func finish(_ counters: UnsafeMutablePointer<TerminalCounters>) -> (isDone: Bool, code: Int32) {
        if !isFilled {
            isFilled = true
            let frames = queue.available / channels
            let held = (codecDelay + codecFrameSamples - 1) / codecFrameSamples * codecFrameSamples
            let missing = (codecFrameSamples - frames % codecFrameSamples) % codecFrameSamples
            _ = queue.write(silence: (missing + held) * channels)
        }
        let code = pump(to: 1, counters)
        return (code != 0 || !isWaiting && queue.available == 0, code)
    }

    /// Discards the rest after a stop.
    @_noLocks
    mutating func stop() {
        let left = queue.available
        _ = queue.discard(left)
        timestamp &+= UInt32(truncatingIfNeeded: left / channels)
        if isWaiting { packetizer.discard() }
        isWaiting = false
        isBlocked = false
        waitingFrames = 0
        fromBus.reset()
        isBusQuiet = true
        var index = 0
        while index < laneCount {
            lanes[index].reset()
            index += 1
        }
    }

    @_noLocks
    mutating func setSpeaker(_ gain: Float) { speaker.set(gain) }

    /// Sets the rate of the bus for a stream that does not play.
    @_noLocks
    mutating func adoptBus(_ index: Int) {
        fromBus.set(index)
        listening.setRate(bus.rate(index))
    }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block, of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        fromBus.change(to: index, after: last, frames)
        listening.setRate(bus.rate(index))
    }

    // MARK: Listening

    @_noLocks
    mutating func setListening(_ isOn: Bool) { isListening = isOn }

    /// The calls are heard, or still fade out.
    var hearsCalls: Bool { @_noLocks get { isListening || !listening.isSilent } }

    /// Applies the listener's gain to a block of the calls.
    @_noLocks
    mutating func hear(_ block: UnsafeMutablePointer<Int16>, _ frames: Int) {
        listening.setMuted(!isListening)
        listening.apply(block, frames)
    }

    /// Closes the gain while there are no calls, so that the next one is faded in.
    @_noLocks
    mutating func forgetCalls() {
        listening.setMuted(true)
        listening.settle()
    }

    // MARK: Audio

    /// Index of the lane for a sample rate; -1 to use the bus.
    @_noLocks
    func lane(rate: Int) -> Int {
        var index = 0
        while index < laneCount {
            if lanes[index].rate == rate { return index }
            index += 1
        }
        return -1
    }

    /// Where to write 10 ms of a program as pairs, before `add`.
    @_noLocks
    func room(in lane: Int) -> UnsafeMutablePointer<Int16> { lanes[lane].hasBlock ? scratch : lanes[lane].sum }

    /// Adds 10 ms of a program, from `room`, to a lane.
    @_noLocks
    mutating func add(to lane: Int) { lanes[lane].add(scratch) }

    /// Plays 10 ms: a block of the bus and the lanes' audio. Sends the completed packets. Returns 0 or an errno.
    @_noLocks
    mutating func play(
        _ block: UnsafePointer<Int16>, _ frames: Int, now: Int64, _ counters: UnsafeMutablePointer<TerminalCounters>
    ) -> Int32 {
        isFilled = false
        let mix = mixLanes()
        addBus(block, frames, to: mix)
        gate.apply(pairs: mix, blockFrames, rate: codecRate)
        enqueue(mix)
        return sendQueue(now: now, counters)
    }

    /// Whether `play` would send one program's pairs, at the codec's rate, as they are: nothing else plays, no volume
    /// changes anything, and no packet waits.
    var passesUnchanged: Bool {
        @_noLocks get {
            if channels != 2 || isWaiting || !isBusQuiet || !gate.isOpen || !speaker.isOpen { return false }
            var index = 0
            while index < laneCount {
                if !lanes[index].isIdle { return false }
                index += 1
            }
            return true
        }
    }

    /// Plays `blocks` times 10 ms of a program while `passesUnchanged`: its samples go from its ring to the queue, as `play`
    /// would bring them there one block at a time. Returns 0 or an errno.
    ///
    /// - Parameter playback: of that program.
    @_noLocks
    mutating func pass(
        _ program: PCMPointer, of playback: PlaybackPointer, blocks: Int, now: Int64,
        _ counters: UnsafeMutablePointer<TerminalCounters>
    ) -> Int32 {
        isFilled = false
        playback.pointee.pass(program, blocks: blocks, into: queue)
        return sendQueue(now: now, counters)
    }

    /// Sends the packets that are full, drops what is too old, and adapts the bitpool. Returns 0 or an errno.
    @_noLocks
    private mutating func sendQueue(now: Int64, _ counters: UnsafeMutablePointer<TerminalCounters>) -> Int32 {
        let code = pump(to: 0, counters)
        if code != 0 { return code }
        dropOldest(counters)
        let waiting = isWaiting ? queuedMilliseconds : 0
        if bitpools.note(waiting: waiting, now: now) { encoder.setBitpool(bitpools.bitpool) }
        counters.pointee.bitpool.set(bitpools.bitpool)
        counters.pointee.queuedMilliseconds.set(queuedMilliseconds)
        return 0
    }

    /// Adds the block to `mix`. Silent blocks are skipped once the resampler's tail, less than a block, is out: if all
    /// audio comes by the lanes, that is most of a tick's work.
    @_noLocks
    private mutating func addBus(
        _ block: UnsafePointer<Int16>, _ frames: Int, to mix: UnsafeMutablePointer<Int16>
    ) {
        let wasQuiet = isBusQuiet
        isBusQuiet = Mixer.isSilent(block, frames)
        if wasQuiet && isBusQuiet { return }
        let made = fromBus.process(block, frames, mono, blockFrames).made
        if made < blockFrames { clear(mono + made, blockFrames - made) }
        Mixer.add(mono, blockFrames, toPairs: mix)
    }

    /// Adds up the lanes' audio and applies its volume. Returns where it is: if only a lane of the codec's rate has any, in
    /// that lane.
    @_noLocks
    private mutating func mixLanes() -> UnsafeMutablePointer<Int16> {
        var first: UnsafeMutablePointer<Int16>?
        var index = 0
        while index < laneCount {
            if let mix = first {
                if let more = lanes[index].takeBlock(scratch, blockFrames) {
                    Mixer.add(more, 2 * blockFrames, to: mix)
                }
            } else {
                first = lanes[index].takeBlock(pairs, blockFrames)
            }
            index += 1
        }
        guard let mix = first else {
            clear(pairs, 2 * blockFrames)
            // Its ramp goes on.
            speaker.apply(pairs: pairs, blockFrames, rate: codecRate)
            return pairs
        }
        speaker.apply(pairs: mix, blockFrames, rate: codecRate)
        return mix
    }

    @_noLocks
    private mutating func enqueue(_ mix: UnsafePointer<Int16>) {
        if channels == 2 {
            _ = queue.write(mix, 2 * blockFrames)
            return
        }
        var index = 0
        while index < blockFrames {
            mono[index] = Int16(truncatingIfNeeded: (Int32(mix[2 * index]) + Int32(mix[2 * index + 1])) >> 1)
            index += 1
        }
        _ = queue.write(mono, blockFrames)
    }

    /// Audio not accepted by the socket yet, in milliseconds.
    var queuedMilliseconds: Int {
        @_noLocks get { (waitingFrames + queue.available / channels) * 1000 / codecRate }
    }

    /// Audio frames in a packet.
    @_noLocks
    private func packetFrames() -> Int {
        let room = packetizer.room(frameBytes: encoder.frameBytes)
        let most = Self.longestPacket * codecRate / 1000 / codecFrameSamples
        return room < most || most < 1 ? room : most
    }

    /// Time until a packet is full.
    var packetMilliseconds: Int { @_noLocks get { packetFrames() * codecFrameSamples * 1000 / codecRate } }

    /// Ticks until a packet is full. 1 while one waits for the socket: each tick drops audio that has become too old.
    var ticksToPacket: Int {
        @_noLocks get {
            if isWaiting { return 1 }
            let missing = packetFrames() * codecFrameSamples - queue.available / channels
            return missing > blockFrames ? (missing + blockFrames - 1) / blockFrames : 1
        }
    }

    // MARK: Packets

    /// Continues sending when the socket has room. Returns 0 or an errno.
    @_noLocks
    mutating func resume(_ counters: UnsafeMutablePointer<TerminalCounters>) -> Int32 {
        isBlocked = false
        return pump(to: 0, counters)
    }

    /// Sends the waiting packet, then makes and sends packets until the socket is full or too little audio is left: less
    /// than a packet, or with `least` less than that many codec frames. Returns 0 or an errno.
    @_noLocks
    private mutating func pump(to least: Int, _ counters: UnsafeMutablePointer<TerminalCounters>) -> Int32 {
        var left = 256
        while left > 0 {
            left -= 1
            if isWaiting {
                let code = send(counters)
                if code != 0 || isWaiting { return code }
            }
            let full = packetFrames()
            let there = queue.available / channels / codecFrameSamples
            if full < 1 || there < (least > 0 ? least : full) { return 0 }
            makePacket(there < full ? there : full)
        }
        return 0
    }

    @_noLocks
    private mutating func makePacket(_ frames: Int) {
        packetizer.begin(timestamp: timestamp)
        var index = 0
        while index < frames {
            _ = queue.read(piece, codecFrameSamples * channels)
            packetizer.append(encoder.encode(piece, into: packetizer.end, packetizer.free))
            index += 1
        }
        waitingFrames = frames * codecFrameSamples
        timestamp &+= UInt32(truncatingIfNeeded: waitingFrames)
        isWaiting = true
        isCounted = false
    }

    @_noLocks
    private mutating func send(_ counters: UnsafeMutablePointer<TerminalCounters>) -> Int32 {
        let sent = btcall_send_packet(descriptor, packetizer.bytes, packetizer.byteCount)
        if sent >= 0 {
            isWaiting = false
            isBlocked = false
            waitingFrames = 0
            counters.pointee.packetsSent.add(1)
            counters.pointee.packetBytes.set(packetizer.byteCount)
            return 0
        }
        // For lack of memory the socket never signals room: retry in the next tick.
        if sent == -Int(EAGAIN) || sent == -Int(ENOBUFS) || sent == -Int(ENOMEM) {
            isBlocked = sent == -Int(EAGAIN)
            if !isCounted { counters.pointee.packetsWaited.add(1) }
            isCounted = true
            return 0
        }
        return Int32(truncatingIfNeeded: -sent)
    }

    /// Drops audio that the headset will not hear: whole frames, before they are encoded.
    @_noLocks
    private mutating func dropOldest(_ counters: UnsafeMutablePointer<TerminalCounters>) {
        if !isWaiting { return }
        let surplus = waitingFrames + queue.available / channels - Self.longestQueue * codecRate / 1000
        if surplus <= 0 { return }
        let dropped = queue.discard(surplus * channels) / channels
        timestamp &+= UInt32(truncatingIfNeeded: dropped)
        counters.pointee.overrunFrames.add(dropped)
    }
}

/// Maps an orderly end to 0: closed by the peer or suspended by bluetoothd; ECONNRESET when the headset requests the end of
/// the channel. Otherwise returns the errno.
@_noLocks
func streamEnd(_ code: Int32) -> Int32 {
    code == EPIPE || code == ECONNRESET || code == ENOTCONN ? 0 : code
}
