import Synchronization

/// A counter that one thread writes and others read.
struct Counter: ~Copyable {
    private let value: Atomic<Int>

    init(_ first: Int = 0) {
        value = Atomic(first)
    }

    @_noLocks
    func add(_ amount: Int) {
        value.store(value.load(ordering: .relaxed) &+ amount, ordering: .relaxed)
    }

    @_noLocks
    func set(_ new: Int) {
        value.store(new, ordering: .relaxed)
    }

    @_noLocks
    func read() -> Int { value.load(ordering: .relaxed) }
}

/// Counters of one terminal, written by the real-time thread and read by the control side.
struct TerminalCounters: ~Copyable {
    let packetsReceived = Counter()
    let packetsSent = Counter()
    let packetsByTimer = Counter()
    let packetsBalanced = Counter()
    let sendFailures = Counter()
    let framesDecoded = Counter()
    let framesConcealed = Counter()
    let framesByTimer = Counter()
    let sequenceGaps = Counter()
    let resyncs = Counter()
    let decodeErrors = Counter()
    let bytesSkipped = Counter()
    let silences = Counter()
    let underrunFrames = Counter()
    let overrunFrames = Counter()
    let playbackXruns = Counter()
    let captureXruns = Counter()
    /// Drift in thousandths of a part per million.
    let driftMilliPPM = Counter()
    let queuedMilliseconds = Counter()
    let longestGapMilliseconds = Counter()
    let silentLimitMilliseconds = Counter()
    let packetBytes = Counter()
    let deviationMicroseconds = Counter()
    let intervals = Counter()
    let packetsDamaged = Counter()
    let samplesByTimer = Counter()
    let packetsWaited = Counter()
    let bitpool = Counter()

    func snapshot(id: UInt32, isLink: Bool) -> EngineCounters.Terminal {
        var result = EngineCounters.Terminal(id: id, isLink: isLink)
        result.packetsReceived = packetsReceived.read()
        result.packetsSent = packetsSent.read()
        result.packetsByTimer = packetsByTimer.read()
        result.packetsBalanced = packetsBalanced.read()
        result.sendFailures = sendFailures.read()
        result.framesDecoded = framesDecoded.read()
        result.framesConcealed = framesConcealed.read()
        result.framesByTimer = framesByTimer.read()
        result.sequenceGaps = sequenceGaps.read()
        result.resyncs = resyncs.read()
        result.decodeErrors = decodeErrors.read()
        result.bytesSkipped = bytesSkipped.read()
        result.silences = silences.read()
        result.underrunFrames = underrunFrames.read()
        result.overrunFrames = overrunFrames.read()
        result.playbackXruns = playbackXruns.read()
        result.captureXruns = captureXruns.read()
        result.driftPPM = Double(driftMilliPPM.read()) / 1000
        result.queuedMilliseconds = queuedMilliseconds.read()
        result.longestGapMilliseconds = longestGapMilliseconds.read()
        result.silentLimitMilliseconds = silentLimitMilliseconds.read()
        result.packetBytes = packetBytes.read()
        result.deviationMicroseconds = deviationMicroseconds.read()
        result.intervals = intervals.read()
        result.packetsDamaged = packetsDamaged.read()
        result.samplesByTimer = samplesByTimer.read()
        result.packetsWaited = packetsWaited.read()
        result.bitpool = bitpool.read()
        return result
    }
}

/// Counters of one call, written by the real-time thread.
struct CallCounters: ~Copyable {
    let blocksSent = Counter()
    let blocksReceived = Counter()
    let blocksDropped = Counter()
    let blocksMissing = Counter()
    let blocksUnsent = Counter()
    let blocksBad = Counter()
    let blocksDiscarded = Counter()
    let blocksQueued = Counter()
    let blocksSkipped = Counter()
    let blocksRepeated = Counter()
    let queueBlocks = Counter()

    func snapshot(id: UInt32) -> EngineCounters.Call {
        var result = EngineCounters.Call(id: id)
        result.blocksSent = blocksSent.read()
        result.blocksReceived = blocksReceived.read()
        result.blocksDropped = blocksDropped.read()
        result.blocksMissing = blocksMissing.read()
        result.blocksUnsent = blocksUnsent.read()
        result.blocksBad = blocksBad.read()
        result.blocksDiscarded = blocksDiscarded.read()
        result.blocksQueued = blocksQueued.read()
        result.blocksSkipped = blocksSkipped.read()
        result.blocksRepeated = blocksRepeated.read()
        result.queueBlocks = queueBlocks.read()
        return result
    }
}

/// Counters of one injection, written by the real-time thread.
struct InjectionCounters: ~Copyable {
    let blocksReceived = Counter()
    let blocksTaken = Counter()
    let blocksMissing = Counter()
    let blocksBad = Counter()

    func snapshot(id: UInt32) -> EngineCounters.Injection {
        var result = EngineCounters.Injection(id: id)
        result.blocksReceived = blocksReceived.read()
        result.blocksTaken = blocksTaken.read()
        result.blocksMissing = blocksMissing.read()
        result.blocksBad = blocksBad.read()
        return result
    }
}

/// Counters of the real-time thread itself.
struct ThreadCounters: ~Copyable {
    let ticks = Counter()
    let wakeUps = Counter()
    let lateWakeUps = Counter()
    let worstLateMicroseconds = Counter()
    let busyNanoseconds = Counter()
    let busRate = Counter()
    /// Times of the control side's last request for levels and of their last measurement, in milliseconds of the monotonic
    /// clock; initially long ago.
    let levelsAskedAt = Counter(ThreadCounters.longAgo)
    let levelsAt = Counter(ThreadCounters.longAgo)
    let heardPeak = Counter()
    let heardPower = Counter()
    let saidPeak = Counter()
    let saidPower = Counter()

    private static let longAgo = -1_000_000
}
