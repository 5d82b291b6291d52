import AudioDSP

typealias VoicePointer = UnsafeMutablePointer<VoicePort>

/// The thread's side of voice processing: a processor created by the control side.
struct VoicePort: ~Copyable {
    var processor: VoiceProcessor
    /// Leaves the microphone unchanged and undelayed; the processor only detects speech.
    let isListener: Bool
    /// Loudspeaker block without a loudspeaker.
    let silence: UnsafeMutablePointer<Int16>

    init(_ kind: VoiceProcessingKind, bus: BusRates, stages: VoiceStages) throws(VoiceProcessorError) {
        isListener = kind == .none
        processor = try VoiceProcessor(kind, bus: bus, stages: isListener ? [] : stages)
        let frames = bus.highest / 100
        silence = .allocate(capacity: frames)
        silence.initialize(repeating: 0, count: frames)
    }

    deinit { silence.deallocate() }
}

/// The thread's state of voice processing beside the processor.
struct VoiceState {
    /// nil: no processing.
    var port: VoicePointer?
    /// Replaces `port` after the block that fades out; nil for none.
    var next: VoicePointer?
    var isChanging = false
    /// Requested stages, unless the headset does the processing.
    var stages = VoiceStages.all
    var isBypassed = false
    /// Closed while the processor is replaced.
    var gate: Gain
    /// `gate` is closed because the bus is about to change its rate.
    var isClosedForBus = false
    /// Frames until the new processor's output contains the microphone's audio.
    var settlingFrames = 0
    /// Everything is muted: speech is reported, from this time on.
    var isMuted = false
    var nextReport: Int64 = 0

    /// Delay of reports after muting, until the detector has ended the utterance in progress.
    static var firstReport: Int64 { @_noLocks get { 1_000_000_000 } }
    static var reportPause: Int64 { @_noLocks get { 5_000_000_000 } }

    /// - Parameter rate: of the bus, in Hz.
    init(rate: Int) {
        // Done within one tick.
        gate = Gain(rate: rate / 2)
    }
}
