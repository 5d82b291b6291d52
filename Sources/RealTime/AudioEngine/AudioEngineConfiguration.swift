package import AudioDSP

/// What is fixed for the life of an engine.
package struct AudioEngineConfiguration: Sendable {
    /// Frames per second of the internal mix (8000, 16000, 32000 or 48000). Calls and terminals of this rate are not
    /// resampled.
    package var busRate = 16_000
    /// Blocks of 10 ms silence sent when a call's clocking starts. They come back as audio, so this many blocks are
    /// always in flight or queued, and a stall of one block less loses nothing.
    package var primeBlocks = 5
    /// Most blocks of a call that wait for the device (docs/Applications.md); the oldest is dropped beyond.
    package var downlinkLimitBlocks = 6
    /// How full a sound card's playback buffer is kept. A stall of 10 ms less does not run it dry.
    package var playbackQueue = Duration.milliseconds(50)
    /// The same where the thread has no real-time priority: among the others it is run up to 33 ms late on a busy machine.
    /// Twice that in a row, once for the thread and once for the application that answers it, and the 10 ms of a block.
    package var playbackQueueWithoutPriority = Duration.milliseconds(100)
    /// A clock that has been silent for this long is replaced by a timer until it speaks again.
    package var fallbackAfter = Duration.milliseconds(50)
    /// SCHED_FIFO priority to ask for; 0 does not ask.
    package var realtimePriority: Int32 = 20
    /// Lock the process's memory, as it is touched, if nothing limits that.
    package var locksMemory = true

    package init() {}
}

/// Why the engine refused something; nothing was changed.
package enum AudioEngineError: Error, Equatable, Sendable {
    /// A system or alsa-lib call failed. Not expected.
    case failed(call: String, code: Int32)
    /// None of `AudioEngine.rates`, or not 1 or 2 channels.
    case unsupportedFormat(rate: Int, channels: Int)
    /// All places are taken.
    case tooMany(limit: Int)
    /// A packet of a stream has no room for one codec frame at the lowest bitpool that was agreed on.
    case packetTooSmall(writeMTU: Int, codecFrameBytes: Int)
    /// The identifier is in use.
    case duplicate(UInt32)
    /// The real-time thread does not take commands: our own fault, to be logged.
    case commandQueueFull
    /// What is to be done to the microphone cannot be set up.
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
        case .commandQueueFull: "the real-time thread does not take commands"
        case .voiceProcessing(let error): "\(error)"
        }
    }
}
