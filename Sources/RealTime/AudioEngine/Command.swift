import AudioDSP

/// What the control side asks of the real-time thread.
///
/// A number says which terminal, call or stream is meant; an unknown one is ignored, because the thing may have ended in the
/// meantime. A command with a pointer hands that storage over: it is the thread's until an ``Event`` gives it back.
///
/// All payloads are plain bits, so that a command crosses the queue without allocation and without a reference being counted;
/// the compiler holds the enumeration to that (`BitwiseCopyable`), and the code that reads it to `@_noLocks`.
enum Command: BitwiseCopyable {
    // Calls.
    case attachCall(CallPointer, isActive: Bool)
    case setCallActive(UInt32, Bool)
    case setCallGates(UInt32, hears: Bool, speaks: Bool)
    case detachCall(UInt32)
    /// For calls that start from now on.
    case setPrimeBlocks(Int)

    // The ALSA PCM of calls.
    case addPCM(PCMPointer)
    case removePCM(UInt32)
    /// The call whose audio the PCM is; nil: nobody's.
    case setPCMCall(UInt32?)

    // Terminals.
    case addTerminal(TerminalPointer)
    case removeTerminal(UInt32)
    case route(UInt32?)
    case setSpeakerGain(UInt32, Float)
    case setMicrophoneGain(UInt32, Float)
    /// Nil adapts to the link.
    case setSilentLimit(UInt32, nanoseconds: Int64?)
    case setOwnVoice(UInt32, Bool)
    case setStreamDelay(UInt32, milliseconds: Int)
    case setListening(UInt32, Bool)

    // Capture streams by themselves.
    case addCapture(CapturePointer)
    case attachCapture(UInt32, terminal: UInt32)
    case setCaptureAlone(UInt32, Bool)
    case removeCapture(UInt32)

    // What the far end hears.
    case mute(Muting)
    case setMicrophoneVolume(Float)
    case setApplicationVolume(Float)
    case setVoice(VoicePointer?, VoiceStages)
    case setVoiceStages(VoiceStages)
    case setVoiceBypassed(Bool)
    case attachInjection(InjectionPointer)

    // An application in place of a device, and copies of calls.
    case attachManual(ManualPointer)
    case detachManual
    case attachTap(TapPointer)
    case detachTap(UInt32)

    // What the person hears beside the calls.
    case addPlayback(PlaybackPointer)
    case movePlayback(UInt32, PlaybackTarget)
    case endPlayback(UInt32)

    case stop
}
