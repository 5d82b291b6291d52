package import AudioDSP

/// Settings that are fixed for the lifetime of an engine.
package struct AudioEngineConfiguration: Sendable {
    /// Lowest sample rate of the bus, the internal mix, in Hz (8000, 16000, 32000 or 48000), and that of samples to play.
    /// Calls and terminals of the bus's rate are not resampled.
    package var busRate = 16_000
    /// Higher rates in Hz at which the bus runs while the routed device and a call both have as much; at most two.
    package var higherBusRates = [32_000, 48_000]

    var bus: BusRates { BusRates(busRate, others: higherBusRates) }
    /// Blocks of 10 ms silence sent when a call's clocking starts. They come back as audio, so this many blocks are
    /// always in flight or queued, and a stall of one block less loses nothing.
    package var primeBlocks = 5
    /// The blocks in flight and queued follow the lateness of each call's application (``ApplicationQueue``).
    package var adaptsQueue = false
    /// Maximum blocks of a call that wait for the device (docs/Applications.md); beyond it the oldest is dropped.
    package var downlinkLimitBlocks = 6
    /// Fill level of a sound card's playback buffer. It survives a stall of 10 ms less.
    package var playbackQueue = Duration.milliseconds(50)
    /// Fill level without real-time priority, where a busy machine runs the thread up to 33 ms late: twice that in a row,
    /// once for the thread and once for the answering application, plus the 10 ms of a block.
    package var playbackQueueWithoutPriority = Duration.milliseconds(100)
    /// A timer replaces a clock that has been silent for this long, until it delivers again.
    package var fallbackAfter = Duration.milliseconds(50)
    /// SCHED_FIFO priority to request; 0 requests none.
    package var realtimePriority: Int32 = 20
    /// Lock the process's memory as it is touched, if no limit prevents that.
    package var locksMemory = true

    package init() {}

    /// Sets how many blocks are queued for an application at first; nil adapts to it.
    package mutating func setCallQueue(_ blocks: Int?) {
        primeBlocks = blocks ?? ApplicationQueue.firstBlocks
        adaptsQueue = blocks == nil
    }
}

/// Reason for a refused request; nothing was changed.
package enum AudioEngineError: Error, Equatable, Sendable {
    /// A system or alsa-lib call failed. Not expected.
    case failed(call: String, code: Int32)
    /// None of `AudioEngine.rates`, or not 1 or 2 channels.
    case unsupportedFormat(rate: Int, channels: Int)
    /// All slots are taken.
    case tooMany(limit: Int)
    /// A stream's packet has no room for one codec frame at the lowest agreed bitpool.
    case packetTooSmall(writeMTU: Int, codecFrameBytes: Int)
    /// The identifier is in use.
    case duplicate(UInt32)
    /// The real-time thread does not accept commands: our own fault, to be logged.
    case commandQueueFull
    /// Voice processing could not be set up.
    case voiceProcessing(VoiceProcessorError)
}

extension AudioEngineError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .failed(let call, let code): "\(call) failed with error \(code)"
        case .unsupportedFormat(let rate, let channels): "unsupported format: \(rate) Hz, \(channels) channels"
        case .tooMany(let limit): "no more than \(limit) at once"
        case .packetTooSmall(let size, let frame):
            "a codec frame of \(frame) bytes does not fit into a packet of \(size), of which 13 are headers"
        case .duplicate(let id): "identifier \(id) is in use"
        case .commandQueueFull: "the real-time thread does not accept commands"
        case .voiceProcessing(let error): "\(error)"
        }
    }
}
