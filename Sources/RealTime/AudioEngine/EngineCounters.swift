/// Reading of the engine's counters at one moment. Counters start at zero for each terminal and call, and only grow.
package struct EngineCounters: Equatable, Sendable {
    package struct Terminal: Equatable, Sendable {
        package var id: UInt32
        package var isLink: Bool
        package var packetsReceived = 0
        /// All written packets, including the timer's.
        package var packetsSent = 0
        package var packetsByTimer = 0
        /// Late packets that the timer had already replaced; not written again.
        package var packetsBalanced = 0
        package var sendFailures = 0
        package var framesDecoded = 0
        /// Concealed frames that arrived damaged or are missing between others.
        package var framesConcealed = 0
        /// Concealed frames while no packet arrived at all.
        package var framesByTimer = 0
        package var sequenceGaps = 0
        package var resyncs = 0
        package var decodeErrors = 0
        package var bytesSkipped = 0
        package var silences = 0
        /// Silence frames given to a routed link or card that lacked audio, in device frames.
        package var underrunFrames = 0
        /// Device frames discarded because a queue had reached its ceiling.
        package var overrunFrames = 0
        package var playbackXruns = 0
        package var captureXruns = 0
        package var driftPPM = 0.0
        package var queuedMilliseconds = 0
        /// Longest time between two signs of life of a link, as far as it is remembered; 250 at most.
        package var longestGapMilliseconds = 0
        package var silentLimitMilliseconds = 0
        package var packetBytes = 0
        /// Sum, over `intervals` packets, of the deviations from the interval that the packet size implies.
        package var deviationMicroseconds = 0
        package var intervals = 0
        /// Packets received with a bad status.
        package var packetsDamaged = 0
        /// As `framesByTimer`, in samples.
        package var samplesByTimer = 0
        /// Of a stream: packets that the socket did not accept at once.
        package var packetsWaited = 0
        /// Current bitpool of a stream; 0 for other terminals.
        package var bitpool = 0
        /// Playback sample rate of the device in Hz.
        package var rate = 0
        /// Decoded and concealed frames are codec frames of 7.5 ms; otherwise samples.
        package var isFramed = false
    }

    package struct Call: Equatable, Sendable {
        package var id: UInt32
        package var blocksSent = 0
        package var blocksReceived = 0
        /// Oldest blocks dropped because more than the limit were waiting.
        package var blocksDropped = 0
        /// Blocks that had not arrived in time; what was played in their place made the queue longer.
        package var blocksMissing = 0
        /// Blocks not sent because the provider does not read.
        package var blocksUnsent = 0
        /// Blocks of a wrong size; ignored.
        package var blocksBad = 0
        /// Blocks dropped while no device was routed or the call was inactive; no loss.
        package var blocksDiscarded = 0
        package var blocksQueued = 0
        /// Quiet blocks joined with the next one, to make the queue shorter; no loss.
        package var blocksSkipped = 0
        /// Quiet blocks played twice, to make the queue longer.
        package var blocksRepeated = 0
        /// Blocks on their way to the application, or back and waiting, before the latest tick.
        package var queueBlocks = 0
    }

    /// Counters of an application that mixes audio into the uplink.
    package struct Injection: Equatable, Sendable {
        package var id: UInt32
        package var blocksReceived = 0
        package var blocksTaken = 0
        /// Silence blocks played because the application was late with the next one.
        package var blocksMissing = 0
        /// Blocks of a wrong size; ignored.
        package var blocksBad = 0
    }

    /// Counters of an application that replaces the device.
    package struct Manual: Equatable, Sendable {
        package var id: UInt32
        /// Blocks of the application that were sent to the far end.
        package var blocksTaken = 0
        /// Silence blocks sent to the far end because none was waiting.
        package var blocksMissing = 0
        /// Blocks of a wrong size; ignored.
        package var blocksBad = 0
        /// Blocks of the calls given to the application.
        package var blocksGiven = 0
        /// Blocks for which the application had no room.
        package var blocksDropped = 0
    }

    /// Counters of a copy of a call.
    package struct Tap: Equatable, Sendable {
        package var id: UInt32
        package var blocksSent = 0
        /// Blocks for which the recorder had no room.
        package var blocksDropped = 0
    }

    package var manual: Manual?
    package var taps: [Tap] = []
    package var terminals: [Terminal] = []
    package var calls: [Call] = []
    package var injections: [Injection] = []
    /// 10 ms steps of all calls.
    package var ticks = 0
    package var wakeUps = 0
    /// Wake-ups more than 20 ms after the time asked for.
    package var lateWakeUps = 0
    package var worstLateMicroseconds = 0
    /// Total time between wake-up and sleep.
    package var busyNanoseconds = 0
    /// Present sample rate of the bus in Hz.
    package var busRate = 0
}
