import AudioDSP
import CBTCall

/// The thread's side of a packet link, and its clock: one packet is written for each received one; a timer replaces missing
/// packets, and packets that arrive late are offset against those the timer has written.
struct LinkPort: ~Copyable {
    /// Meaning of a packet for the clock.
    enum Arrival: UInt8 {
        /// Time has passed: exchange audio and write one packet.
        case clock
        /// The timer has already done that for this packet.
        case balanced
    }

    static var maximumPacketBytes: Int { @_noLocks get { 2_048 } }
    /// Packets that begin a headset's link and are muted; a simulated sound card has none, like a real one.
    private let mutedPackets: Int
    static var settledPackets: Int { @_noLocks get { 8 } }
    static var balanceFor: Int64 { @_noLocks get { 100_000_000 } }
    static var maximumDebt: Int { @_noLocks get { 64 } }

    let descriptor: Int32
    /// Sample rate of the decoded audio in Hz.
    let rate: Int
    /// Packet bytes per second.
    private let bytesPerSecond: Int
    private let fallbackAfter: Int64

    private(set) var packetBytes: Int
    private var reportedBytes = 0
    /// Number of consecutive packets of the present size.
    private var sameSize = 0
    private var packetNanoseconds: Int64
    private(set) var received = 0
    private(set) var lastPacket: Int64
    /// Time of the last packet or timer event that advanced the clock.
    private var lastClock: Int64
    private(set) var isFallback = false
    private var nextTimer: Int64 = 0
    /// Packets written by the timer whose counterparts have not arrived since.
    private var debt = 0
    private var debtEnds: Int64 = 0
    private(set) var isSilent = false
    var watch = GapWatch()
    /// Sum of the deviations from the expected packet interval, and number of intervals.
    private var deviationNanoseconds: Int64 = 0
    private var intervals = 0

    /// Samples in a codec frame; 0 without codec frames.
    private let codecFrames: Int
    /// Counts codec frames of 7.5 ms instead of samples.
    var isFramed: Bool { codecFrames > 0 }
    private var fromBus: Resampler
    private var receiver: LinkReceiver
    /// Frames concealed because no packet arrived at all; not a loss within the stream.
    private var concealedByTimer = 0
    /// Same, in samples.
    private var samplesByTimer = 0
    private var transmitter: LinkTransmitter
    let bytes: UnsafeMutablePointer<UInt8>
    let pcm: UnsafeMutablePointer<Int16>
    static var pcmFrames: Int { @_noLocks get { Terminal.chunkFrames } }

    /// - Parameter fallbackAfter: nanoseconds without a packet after which the timer stands in.
    init(
        descriptor: Int32, codec: LinkCodec, packetBytesHint: Int, busRate: Int, fallbackAfter: Int64, now: Int64
    ) {
        self.descriptor = descriptor
        self.fallbackAfter = fallbackAfter
        let format: LinkFormat
        switch codec {
        case .cvsd: format = .cvsd
        case .mSBC: format = .mSBC
        case .lc3SWB: format = .lc3SWB
        case .pcm(let frames): format = .pcm16(rate: frames)
        }
        mutedPackets = if case .pcm = codec { 0 } else { 5 }
        rate = format.rate
        bytesPerSecond = format.bytesPerSecond
        packetBytes = min(max(packetBytesHint, 2), Self.maximumPacketBytes)
        packetNanoseconds = Int64(packetBytes) * 1_000_000_000 / Int64(bytesPerSecond)
        lastPacket = now
        lastClock = now
        codecFrames = format.codecFrameSamples
        fromBus = Resampler(from: busRate, to: rate)
        receiver = LinkReceiver(format)
        transmitter = LinkTransmitter(format)
        bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.maximumPacketBytes)
        bytes.initialize(repeating: 0, count: Self.maximumPacketBytes)
        pcm = UnsafeMutablePointer<Int16>.allocate(capacity: Self.pcmFrames)
        pcm.initialize(repeating: 0, count: Self.pcmFrames)
    }

    deinit {
        bytes.deallocate()
        pcm.deallocate()
    }

    /// Next time for the timer or the watchdog, on CLOCK_MONOTONIC.
    @_noLocks
    func deadline(grace: Int64) -> Int64 {
        var result = isFallback ? nextTimer : lastPacket &+ fallbackAfter
        if received > 0 && !isSilent {
            let silent = max64(lastPacket &+ watch.limit(), grace)
            if silent < result { result = silent }
        }
        return result
    }

    /// Whether a packet arrived within `fallbackAfter`.
    @_noLocks
    func isAlive(now: Int64) -> Bool {
        received > 0 && now &- lastPacket <= fallbackAfter
    }

    /// Records the arrival of a packet of `count` bytes.
    ///
    /// Returns the length of the silence that it ends, in nanoseconds (0 for none), and its meaning for the clock.
    @_noLocks
    mutating func arrived(_ count: Int, now: Int64) -> (silence: Int64, isNewSize: Bool, arrival: Arrival) {
        let gap = now &- lastPacket
        var silence: Int64 = 0
        if isSilent {
            isSilent = false
            silence = gap
        } else if received > 0 {
            watch.record(gap)
            let off = gap &- packetNanoseconds
            deviationNanoseconds &+= off < 0 ? 0 &- off : off
            intervals &+= 1
        }
        if received == 0 { debt = 0 }
        let isNewSize = learnSize(count)
        received &+= 1
        lastPacket = now
        if isFallback {
            isFallback = false
            debtEnds = now &+ Self.balanceFor
        }
        if now > debtEnds { debt = 0 }
        // Arrived sooner after the last clock event than packets can follow each other: belongs to time that the timer has
        // filled.
        if debt > 0 && (now &- lastClock) * 2 < packetNanoseconds {
            debt -= 1
            return (silence, isNewSize, .balanced)
        }
        lastClock = now
        return (silence, isNewSize, .clock)
    }

    /// Adopts the size of received packets for sent ones. Returns true when the size is worth reporting: for the first
    /// packet, and for a new size once it has settled.
    @_noLocks
    private mutating func learnSize(_ count: Int) -> Bool {
        if count == packetBytes {
            sameSize += 1
        } else {
            sameSize = 1
            packetBytes = count
            packetNanoseconds = Int64(count) * 1_000_000_000 / Int64(bytesPerSecond)
        }
        if received > 0 && (count == reportedBytes || sameSize != Self.settledPackets) { return false }
        reportedBytes = count
        return true
    }

    /// Returns true once when no packet has arrived for longer than the limit.
    @_noLocks
    mutating func becameSilent(now: Int64, grace: Int64) -> Bool {
        if received == 0 || isSilent { return false }
        if now < grace || now &- lastPacket < watch.limit() { return false }
        isSilent = true
        return true
    }

    /// Whether the timer has to replace a packet now; call until it returns false.
    @_noLocks
    mutating func timerFired(now: Int64) -> Bool {
        if !isFallback {
            if now &- lastPacket < fallbackAfter { return false }
            isFallback = true
            nextTimer = now
        }
        if now < nextTimer { return false }
        nextTimer = nextTimer &+ packetNanoseconds
        // Time lost in a stall is not made up by the timer: the waiting packets do that.
        if nextTimer < now { nextTimer = now &+ packetNanoseconds }
        lastClock = now
        if debt < Self.maximumDebt { debt += 1 }
        return true
    }

    /// Decodes `count` bytes of `bytes` to `pcm`; returns the frames there. They keep the packets' time even while the codec
    /// is out of step.
    @_noLocks
    mutating func decode(_ count: Int, status: Int32) -> Int {
        receiver.receive(bytes, count, status: status, into: pcm, capacity: Self.pcmFrames)
    }

    /// Conceals a missing packet in `pcm`; returns the frames there.
    @_noLocks
    mutating func conceal() -> Int {
        let before = receiver.counters.framesConcealed
        let frames = receiver.conceal(bytes: packetBytes, into: pcm, capacity: Self.pcmFrames)
        concealedByTimer &+= receiver.counters.framesConcealed &- before
        samplesByTimer &+= frames
        return frames
    }

    /// Mutes the first packets of a link, which are often noise; their time counts (docs/inside/Gateway.md, voice link).
    @_noLocks
    func isStarting() -> Bool { received <= mutedPackets }

    /// Number of frames that a packet represents.
    @_noLocks
    func packetFrames() -> Int { packetBytes * rate / bytesPerSecond }

    /// Frames to queue beside one tick so that packets and ticks never wait for each other: if codec frames and packets
    /// differ in size, each side can hold back one codec frame.
    @_noLocks
    func slackFrames() -> Int {
        codecFrames > 0 && packetBytes != 60 ? 2 &* codecFrames : 2
    }

    /// Converts a block of the bus, perhaps of doubled audio (see `Resampler`), to the link's rate and appends it to `ring`.
    @_noLocks
    mutating func convert(
        _ block: UnsafePointer<Int16>, _ frames: Int, into ring: borrowing SampleRing, isDoubled: Bool = false
    ) {
        let result = fromBus.process(block, frames, pcm, Self.pcmFrames, isDoubled: isDoubled)
        _ = ring.write(pcm, result.made)
    }

    /// Writes one packet from `playback`. Returns the number of missing frames replaced by silence, or -errno.
    @_noLocks
    mutating func send(_ playback: borrowing SampleRing) -> Int {
        let needed = transmitter.framesNeeded(packetBytes: packetBytes)
        let frames = playback.read(pcm, needed < Self.pcmFrames ? needed : Self.pcmFrames)
        let missing = transmitter.makePacket(bytes, packetBytes, from: pcm, frames)
        let sent = btcall_send_packet(descriptor, bytes, packetBytes)
        return sent < 0 ? sent : missing
    }

    /// Copies the codec's own counters.
    @_noLocks
    func publish(_ counters: UnsafeMutablePointer<TerminalCounters>) {
        let codec = receiver.counters
        counters.pointee.packetsReceived.set(received)
        counters.pointee.framesDecoded.set(codec.frames)
        counters.pointee.framesConcealed.set(codec.framesConcealed &- concealedByTimer)
        counters.pointee.framesByTimer.set(concealedByTimer)
        counters.pointee.sequenceGaps.set(codec.sequenceGaps)
        counters.pointee.resyncs.set(codec.resyncs)
        counters.pointee.decodeErrors.set(codec.decodeErrors)
        counters.pointee.bytesSkipped.set(codec.bytesSkipped)
        counters.pointee.gapP99Milliseconds.set(watch.percentile)
        counters.pointee.silentLimitMilliseconds.set(Int(watch.limit() / 1_000_000))
        counters.pointee.packetBytes.set(packetBytes)
        counters.pointee.deviationMicroseconds.set(Int(deviationNanoseconds / 1_000))
        counters.pointee.intervals.set(intervals)
        counters.pointee.packetsDamaged.set(codec.damagedPackets)
        counters.pointee.samplesByTimer.set(samplesByTimer)
    }
}

@_noLocks
func max64(_ left: Int64, _ right: Int64) -> Int64 { left > right ? left : right }
