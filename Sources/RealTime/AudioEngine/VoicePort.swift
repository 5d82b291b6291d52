import AudioDSP

typealias VoicePointer = UnsafeMutablePointer<VoicePort>

/// The thread's side of what is done to the microphone: a processor, made by the control side.
struct VoicePort: ~Copyable {
    var processor: VoiceProcessor
    /// It changes nothing: the microphone passes at once, and the processor only listens for speech.
    let isListener: Bool
    /// What the loudspeaker plays where none does.
    let silence: UnsafeMutablePointer<Int16>
    private let frames: Int

    /// - Parameter busRate: frames per second.
    init(_ kind: VoiceProcessingKind, busRate: Int, stages: VoiceStages) throws(VoiceProcessorError) {
        isListener = kind == .none
        processor = try VoiceProcessor(kind, rate: busRate, stages: isListener ? [] : stages)
        frames = busRate / 100
        silence = .allocate(capacity: frames)
        silence.initialize(repeating: 0, count: frames)
    }

    deinit { silence.deallocate() }
}

/// What the thread keeps of voice processing beside the processor.
struct VoiceState {
    /// nil: the microphone is left alone.
    var port: VoicePointer?
    /// What follows `port` when the block that fades out has been made; nil is nothing.
    var next: VoicePointer?
    var isChanging = false
    /// Wanted, where the headset does not do it itself.
    var stages = VoiceStages.all
    var isBypassed = false
    /// Closed while one follows the other.
    var gate: Gain
    /// Frames until the new one gives what the microphone says.
    var settlingFrames = 0
    /// Everything is muted: speech is reported, from this time on.
    var isMuted = false
    var nextReport: Int64 = 0

    /// Speech that was going on when it was muted has ended for the detector by then.
    static var firstReport: Int64 { @_noLocks get { 1_000_000_000 } }
    static var reportPause: Int64 { @_noLocks get { 5_000_000_000 } }

    /// - Parameter rate: frames per second of the bus.
    init(rate: Int) {
        // Done within one tick.
        gate = Gain(rate: rate / 2)
    }
}
