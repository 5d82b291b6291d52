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
    /// Packets that begin a headset's link and are muted; a simulated sound card has none, like a real one, and neither has
    /// a link that speaks at once.
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
    private var lastPacket: Int64
    /// Time of the last packet or timer event that advanced the clock.
    private var lastClock: Int64
    private(set) var isFallback = false
    private var nextTimer: Int64 = 0
    /// Packets written by the timer whose counterparts have not arrived since.
    private var debt = 0
    private var debtEnds: Int64 = 0
    /// Judges the link's silence; its `lastSign` is the link's last sign of life.
    var watch = GapWatch()
    /// Sum of the deviations from the expected packet interval, and number of intervals.
    private var deviationNanoseconds: Int64 = 0
    private var intervals = 0

    /// Samples in a codec frame; 0 without codec frames.
    private let codecFrames: Int
    /// Counts codec frames of 7.5 ms instead of samples.
    var isFramed: Bool { codecFrames > 0 }
    private var fromBus: FromBus
    private var receiver: LinkReceiver
    /// Frames concealed because no packet arrived at all; not a loss within the stream.
    private var concealedByTimer = 0
    /// Same, in samples.
    private var samplesByTimer = 0
    private var transmitter: LinkTransmitter
    let bytes: UnsafeMutablePointer<UInt8>
    let pcm: UnsafeMutablePointer<Int16>
    static var pcmFrames: Int { @_noLocks get { Terminal.chunkFrames } }

    /// - Parameters:
    ///   - speaksAtOnce: its first packets are not muted.
    ///   - fallbackAfter: nanoseconds without a packet after which the timer stands in.
    init(
        descriptor: Int32, codec: LinkCodec, packetBytesHint: Int, speaksAtOnce: Bool = false, bus: BusRates,
        fallbackAfter: Int64, now: Int64
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
        let isSimulated = if case .pcm = codec { true } else { false }
        mutedPackets = isSimulated || speaksAtOnce ? 0 : 5
        rate = format.rate
        bytesPerSecond = format.bytesPerSecond
        packetBytes = min(max(packetBytesHint, 2), Self.maximumPacketBytes)
        packetNanoseconds = Int64(packetBytes) * 1_000_000_000 / Int64(bytesPerSecond)
        lastPacket = now
        lastClock = now
        codecFrames = format.codecFrameSamples
        fromBus = FromBus(to: rate, bus: bus)
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
        let next = isFallback ? nextTimer : lastPacket &+ fallbackAfter
        let silent = watch.deadline(grace: grace)
        return silent < next ? silent : next
    }

    /// Whether a sign of life came within `fallbackAfter`, and the link has not been reported as silent since.
    @_noLocks
    func isAlive(now: Int64) -> Bool {
        received > 0 && !watch.isSilent && now &- watch.lastSign <= fallbackAfter
    }

    /// Records the arrival of a packet of `count` bytes.
    ///
    /// - Parameters:
    ///   - status: the controller's packet status, 0 for correctly received. Any packet advances the clock, but not each one
    ///     is a sign of life.
    ///   - now: nanoseconds of CLOCK_MONOTONIC.
    ///   - grace: before this time the thread was late.
    /// - Returns: the length of the silence that it ends, in nanoseconds (0 for none), and its meaning for the clock.
    @_noLocks
    mutating func arrived(
        _ count: Int, status: Int32 = 0, now: Int64, grace: Int64 = 0
    ) -> (silence: Int64, isNewSize: Bool, arrival: Arrival) {
        let silence = watch.arrived(status: status, now: now, grace: grace)
        if silence == 0 && received > 0 {
            let off = now &- lastPacket &- packetNanoseconds
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

    /// Returns true once when no sign of life has come for longer than the limit.
    @_noLocks
    mutating func becameSilent(now: Int64, grace: Int64) -> Bool {
        watch.becameSilent(now: now, grace: grace)
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

    /// Frames of audio that the next packet needs.
    @_noLocks
    func neededFrames() -> Int { transmitter.framesNeeded(packetBytes: packetBytes) }

    /// Frames of the bus that wait between two packets, in both directions together: captured ones for the next tick, and ones
    /// to play.
    ///
    /// Their sum never changes: each packet brings as many as it takes, and each tick takes as many as it brings. Between the
    /// two halves of a tick it is one tick more. With the captured frames once at a multiple of the `grain`, the greatest
    /// common divisor of packet and tick, they always are. The sum is the least that gives the provider, for every answer, the
    /// time between the two closest ticks: `RealtimeThread.runAhead` takes the answer then.
    ///
    /// If packets have changed their size, or are no whole number of frames, the sum is a tick. If codec frames straddle
    /// packets, it is two codec frames more, because each direction can hold back one.
    ///
    /// - Parameter tick: frames of the bus in a tick.
    /// - Returns: the sum, without `spareFrames`, and the grain, in frames of the bus.
    @_noLocks
    func restingFrames(tick: Int, busRate: Int) -> (frames: Int, grain: Int) {
        if codecFrames > 0 && packetBytes != 60 { return (tick + 2 * codecFrames * busRate / rate, 1) }
        let frames = packetFrames() * busRate / rate
        let isWhole = packetFrames() * bytesPerSecond == packetBytes * rate && frames * rate == packetFrames() * busRate
        if sameSize < received || !isWhole || frames == 0 { return (tick, 1) }
        let grain = Self.commonDivisor(frames, tick)
        return ((frames < tick ? tick / frames * frames : tick) - grain, grain)
    }

    @_noLocks
    private static func commonDivisor(_ left: Int, _ right: Int) -> Int {
        var (divisor, rest) = (left, right)
        while rest > 0 { (divisor, rest) = (rest, divisor % rest) }
        return divisor
    }

    /// Frames to queue beside `restingFrames`, for conversions that are one frame short at first.
    static var spareFrames: Int { @_noLocks get { 2 } }

    /// Converts a block of the bus, perhaps of doubled audio (see `Resampler`), to the link's rate and appends it to `ring`.
    @_noLocks
    mutating func convert(
        _ block: UnsafePointer<Int16>, _ frames: Int, into ring: borrowing SampleRing, isDoubled: Bool = false
    ) {
        let result = fromBus.process(block, frames, pcm, Self.pcmFrames, isDoubled: isDoubled)
        _ = ring.write(pcm, result.made)
    }

    /// Sets the rate of the bus for a link that nobody hears.
    @_noLocks
    mutating func adoptBus(_ index: Int) { fromBus.set(index) }

    /// Continues at another rate of the bus.
    ///
    /// - Parameter last: the latest block, of `frames` frames at the old rate.
    @_noLocks
    mutating func changeBus(to index: Int, after last: UnsafePointer<Int16>, _ frames: Int) {
        fromBus.change(to: index, after: last, frames)
    }

    /// Writes one packet from `playback`. Returns the number of missing frames replaced by silence, or -errno.
    @_noLocks
    mutating func send(_ playback: borrowing SampleRing) -> Int {
        let needed = neededFrames()
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
        counters.pointee.longestGapMilliseconds.set(watch.longest)
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
