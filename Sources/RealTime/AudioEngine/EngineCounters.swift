/// What the engine has counted, read at one moment. Counters only grow, per terminal and per call, from zero.
package struct EngineCounters: Equatable, Sendable {
    package struct Terminal: Equatable, Sendable {
        package var id: UInt32
        package var isLink: Bool
        package var packetsReceived = 0
        /// All written packets, those of the timer included.
        package var packetsSent = 0
        package var packetsByTimer = 0
        /// Late packets that the timer had stood in for; not written again.
        package var packetsBalanced = 0
        package var sendFailures = 0
        package var framesDecoded = 0
        /// Made up for frames that came damaged, or are missing between others.
        package var framesConcealed = 0
        /// Made up while no packet came at all.
        package var framesByTimer = 0
        package var sequenceGaps = 0
        package var resyncs = 0
        package var decodeErrors = 0
        package var bytesSkipped = 0
        package var silences = 0
        /// Samples that a routed link or card wanted and had to be given as silence, in device frames.
        package var underrunFrames = 0
        /// Device frames thrown away because a queue had reached its ceiling.
        package var overrunFrames = 0
        package var playbackXruns = 0
        package var captureXruns = 0
        package var driftPPM = 0.0
        package var queuedMilliseconds = 0
        package var gapP99Milliseconds = 0
        package var silentLimitMilliseconds = 0
        package var packetBytes = 0
        /// By how much the times between packets were off what their size says, in sum over `intervals` of them.
        package var deviationMicroseconds = 0
        package var intervals = 0
        /// Packets that came with a bad status.
        package var packetsDamaged = 0
        /// As `framesByTimer`, in samples.
        package var samplesByTimer = 0
        /// Of a stream: packets that the socket did not take at once.
        package var packetsWaited = 0
        /// Of a stream, at present; 0: it is none.
        package var bitpool = 0
        /// Frames per second of what the device plays.
        package var rate = 0
        /// Decoded and concealed frames are codec frames of 7.5 ms; otherwise samples.
        package var isFramed = false
    }

    package struct Call: Equatable, Sendable {
        package var id: UInt32
        package var blocksSent = 0
        package var blocksReceived = 0
        /// Oldest blocks dropped because more than the limit waited.
        package var blocksDropped = 0
        /// Replaced by comfort noise because none had come.
        package var blocksMissing = 0
        /// The provider does not read.
        package var blocksUnsent = 0
        /// Of a wrong size, ignored.
        package var blocksBad = 0
        /// Dropped while no device was routed or the call was not active; no loss.
        package var blocksDiscarded = 0
        package var blocksQueued = 0
    }

    /// What an application adds to the microphone.
    package struct Injection: Equatable, Sendable {
        package var id: UInt32
        package var blocksReceived = 0
        package var blocksTaken = 0
        /// Silence instead, because the application was late with the next one.
        package var blocksMissing = 0
        /// Of a wrong size, ignored.
        package var blocksBad = 0
    }

    /// An application in place of a device.
    package struct Manual: Equatable, Sendable {
        package var id: UInt32
        /// What the far end has heard of it.
        package var blocksTaken = 0
        /// Silence for the far end, because nothing was there.
        package var blocksMissing = 0
        /// Of a wrong size, ignored.
        package var blocksBad = 0
        /// What it was given of the calls.
        package var blocksGiven = 0
        /// It had no room for.
        package var blocksDropped = 0
    }

    /// A copy of a call.
    package struct Tap: Equatable, Sendable {
        package var id: UInt32
        package var blocksSent = 0
        /// The recorder had no room for.
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
    /// Time between wake-up and sleep, in sum.
    package var busyNanoseconds = 0
}
