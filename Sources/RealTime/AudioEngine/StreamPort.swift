import AudioDSP
import BluetoothTypes
import CBTCall
import Glibc

typealias StreamPointer = UnsafeMutablePointer<StreamPort>

/// The thread's side of a stream over A2DP: 10 ms of the bus, and of what programs play in stereo, in; packets out.
///
/// Its time is that of the ticks in which it is given audio, and the socket is the flow control. A packet that the socket
/// does not take waits, and behind it the audio, not encoded yet: what grows too old is dropped there, so that the numbers
/// of the packets stay whole, and the timestamps tell how long the gap is.
struct StreamPort: ~Copyable {
    /// What waits beyond it is dropped, the oldest first, in milliseconds.
    static var longestQueue: Int { @_noLocks get { 150 } }
    /// A packet is not longer, in milliseconds: at low rates fifteen codec frames would be 120.
    private static var longestPacket: Int { @_noLocks get { 50 } }

    let descriptor: Int32
    /// Frames per second of the codec.
    let rate: Int
    /// From the socket to the ear, as the headset tells, in milliseconds.
    var delayMilliseconds = 0
    /// It also hears the calls, both sides; a ramp.
    private var listening: Gain
    private(set) var isListening = false
    /// Of everything, when it begins and ends.
    private var gate: Gain
    /// Of what does not come by the bus.
    private var speaker: Gain

    private let busRate: Int
    /// Frames of 10 ms at the codec's rate.
    private let blockFrames: Int
    private let channels: Int
    private let codecFrameSamples: Int
    private let codecRate: Int
    private var encoder: SBCEncoder
    private var packetizer: MediaPacketizer
    private var bitpools: BitpoolController
    private var fromBus: Resampler
    /// The last block of the bus was digital silence.
    private var isBusQuiet = false
    private let lanes: UnsafeMutablePointer<StreamLane>
    private let laneCount: Int
    /// Samples of all channels in turn, at the codec's rate.
    private var queue: SampleRing
    /// The number of the queue's first frame.
    private var timestamp: UInt32 = 0
    /// The packet was made and the socket has not taken it yet.
    private(set) var isWaiting = false
    /// The socket said that it is full, and will say when it is not.
    private(set) var isBlocked = false
    private var waitingFrames = 0
    private var isCounted = false
    /// What is left was filled up, to be sent to the end.
    private var isFilled = false
    /// Frames that the filters of coder and decoder hold back.
    private let codecDelay: Int
    private let mono: UnsafeMutablePointer<Int16>
    private let pairs: UnsafeMutablePointer<Int16>
    /// A codec frame's samples.
    private let piece: UnsafeMutablePointer<Int16>
    /// For what a program plays, before it is added to the rest: 10 ms of pairs at any rate.
    let scratch: UnsafeMutablePointer<Int16>
    private static let mostBlockFrames = 480

    /// - Parameters:
    ///   - bitpool: whose codec frames fit into packets.
    ///   - rates: at which programs may play.
    init(_ stream: MediaStream, bitpool: Int, busRate: Int, rates: [Int], speakerGain: Float) {
        let configuration = stream.configuration
        descriptor = stream.descriptor
        rate = configuration.rate
        codecRate = configuration.rate
        self.busRate = busRate
        blockFrames = configuration.rate / 100
        channels = configuration.channels
        codecFrameSamples = configuration.codecFrameSamples
        codecDelay = 9 * configuration.subbands + 1
        encoder = SBCEncoder(configuration, bitpool: bitpool)
        packetizer = MediaPacketizer(capacity: stream.writeMTU)
        bitpools = BitpoolController(highest: bitpool, minimum: configuration.minimumBitpool)
        fromBus = Resampler(from: busRate, to: configuration.rate)
        laneCount = rates.count
        lanes = .allocate(capacity: rates.count)
        for (index, each) in rates.enumerated() {
            (lanes + index).initialize(to: StreamLane(rate: each, to: configuration.rate))
        }
        // The tick that comes, and a packet that is not full, have to have room beside.
        queue = SampleRing(capacity: configuration.rate * channels / 2)
        listening = Gain(rate: busRate)
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

    /// - Parameter isSudden: what is given first is not faded in by who gives it.
    @_noLocks
    mutating func start(fadesIn isSudden: Bool) {
        gate.setMuted(isSudden)
        gate.settle()
        gate.setMuted(false)
    }

    /// Fades out within 20 ms of what it is given.
    @_noLocks
    mutating func fadeOut() { gate.setMuted(true) }

    var bitpool: Int { encoder.bitpool }

    var isFadedOut: Bool { @_noLocks get { gate.isSilent } }

    /// Sends what is left, behind it silence for what the codec holds back of it, to the end of a codec frame; true when there is nothing more. A code is an errno.
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

    /// Forgets what is left: it is stopped.
    @_noLocks
    mutating func stop() {
        let left = queue.available
        _ = queue.discard(left)
        timestamp &+= UInt32(truncatingIfNeeded: left / channels)
        if isWaiting { packetizer.takeBack() }
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

    // MARK: Listening

    @_noLocks
    mutating func setListening(_ isOn: Bool) { isListening = isOn }

    /// The calls are heard, or still fade out.
    var hearsCalls: Bool { @_noLocks get { isListening || !listening.isSilent } }

    /// Changes a block of the calls as the listener hears it.
    @_noLocks
    mutating func hear(_ block: UnsafeMutablePointer<Int16>, _ frames: Int) {
        listening.setMuted(!isListening)
        listening.apply(block, frames)
    }

    /// There are no calls: the next one is faded in.
    @_noLocks
    mutating func forgetCalls() {
        listening.setMuted(true)
        listening.settle()
    }

    // MARK: Audio

    /// The lane of what is played at this rate; -1 when it goes by the bus.
    @_noLocks
    func lane(rate: Int) -> Int {
        var index = 0
        while index < laneCount {
            if lanes[index].rate == rate { return index }
            index += 1
        }
        return -1
    }

    /// Adds 10 ms of a program, in `scratch`.
    @_noLocks
    mutating func addScratch(to lane: Int) { lanes[lane].add(scratch) }

    /// Gives it 10 ms: a block of the bus, and what was added to the lanes. Sends the packets that it makes. Returns 0 or an
    /// errno.
    @_noLocks
    mutating func play(
        _ block: UnsafePointer<Int16>, _ frames: Int, now: Int64, _ counters: UnsafeMutablePointer<TerminalCounters>
    ) -> Int32 {
        isFilled = false
        mixLanes()
        addBus(block, frames)
        gate.apply(pairs: pairs, blockFrames, rate: codecRate)
        enqueue()
        let code = pump(to: 0, counters)
        if code != 0 { return code }
        dropOldest(counters)
        let waiting = isWaiting ? queuedMilliseconds : 0
        if bitpools.note(waiting: waiting, now: now) { encoder.setBitpool(bitpools.bitpool) }
        counters.pointee.bitpool.set(bitpools.bitpool)
        counters.pointee.queuedMilliseconds.set(queuedMilliseconds)
        return 0
    }

    /// Adds the block to `pairs`. Silence adds nothing once the resampler has given what it held back, which is less than a
    /// block: where all that is heard comes by the lanes, that is most of a tick's work.
    @_noLocks
    private mutating func addBus(_ block: UnsafePointer<Int16>, _ frames: Int) {
        let wasQuiet = isBusQuiet
        isBusQuiet = isSilent(block, frames)
        if wasQuiet && isBusQuiet { return }
        let made = fromBus.process(block, frames, mono, blockFrames).made
        if made < blockFrames { clear(mono + made, blockFrames - made) }
        var index = 0
        while index < blockFrames {
            pairs[2 * index] = sum(pairs[2 * index], mono[index])
            pairs[2 * index + 1] = sum(pairs[2 * index + 1], mono[index])
            index += 1
        }
    }

    /// `pairs` becomes the lanes.
    @_noLocks
    private mutating func mixLanes() {
        var isAny = false
        var index = 0
        while index < laneCount {
            if lanes[index].takeBlock(scratch, blockFrames) {
                if isAny {
                    Mixer.add(scratch, 2 * blockFrames, to: pairs)
                } else {
                    Mixer.copy(scratch, 2 * blockFrames, to: pairs)
                }
                isAny = true
            }
            index += 1
        }
        if !isAny { clear(pairs, 2 * blockFrames) }
        speaker.apply(pairs: pairs, blockFrames, rate: codecRate)
    }

    @_noLocks
    private mutating func enqueue() {
        if channels == 2 {
            _ = queue.write(pairs, 2 * blockFrames)
            return
        }
        var index = 0
        while index < blockFrames {
            mono[index] = Int16(truncatingIfNeeded: (Int32(pairs[2 * index]) + Int32(pairs[2 * index + 1])) >> 1)
            index += 1
        }
        _ = queue.write(mono, blockFrames)
    }

    /// What has not been taken by the socket, in milliseconds.
    var queuedMilliseconds: Int {
        @_noLocks get { (waitingFrames + queue.available / channels) * 1000 / codecRate }
    }

    /// Frames of audio in a packet.
    @_noLocks
    private func packetFrames() -> Int {
        let room = packetizer.room(frameBytes: encoder.frameBytes)
        let most = Self.longestPacket * codecRate / 1000 / codecFrameSamples
        return room < most || most < 1 ? room : most
    }

    /// How long audio waits for its packet to be full.
    var packetMilliseconds: Int { @_noLocks get { packetFrames() * codecFrameSamples * 1000 / codecRate } }

    // MARK: Packets

    /// The socket has room again. Returns 0 or an errno.
    @_noLocks
    mutating func resume(_ counters: UnsafeMutablePointer<TerminalCounters>) -> Int32 {
        isBlocked = false
        return pump(to: 0, counters)
    }

    /// Sends what waits, makes packets and sends them, until the socket is full or too little is left: less than a packet,
    /// or with `least` less than so many codec frames. Returns 0 or an errno.
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
        // Without memory the socket says nothing when there is some: it is tried again in the next tick.
        if sent == -Int(EAGAIN) || sent == -Int(ENOBUFS) || sent == -Int(ENOMEM) {
            isBlocked = sent == -Int(EAGAIN)
            if !isCounted { counters.pointee.packetsWaited.add(1) }
            isCounted = true
            return 0
        }
        return Int32(truncatingIfNeeded: -sent)
    }

    /// Time that the headset will not hear: whole frames, before they are encoded.
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

/// What a peer has closed, or bluetoothd has suspended, ends in order: a headset that asks for the end of the channel shows
/// as ECONNRESET. Returns 0 for that, else the errno.
@_noLocks
func streamEnd(_ code: Int32) -> Int32 {
    code == EPIPE || code == ECONNRESET || code == ENOTCONN ? 0 : code
}

@_noLocks
private func isSilent(_ samples: UnsafePointer<Int16>, _ count: Int) -> Bool {
    var index = 0
    while index < count {
        if samples[index] != 0 { return false }
        index += 1
    }
    return true
}

@_noLocks
private func sum(_ left: Int16, _ right: Int16) -> Int16 {
    let sum = Int32(left) &+ Int32(right)
    let low = sum < -32_768 ? -32_768 : sum
    return Int16(truncatingIfNeeded: low > 32_767 ? 32_767 : low)
}
