import AudioDSP

/// Command from the control side to the real-time thread.
///
/// A number identifies the terminal, call or stream; an unknown one is ignored, because the object may have ended in the
/// meantime. A command with a pointer hands that storage over: the thread owns it until an ``Event`` returns it.
///
/// All payloads are plain bits, so that a command crosses the queue without allocation or reference counting. The compiler
/// enforces that for the enumeration (`BitwiseCopyable`) and for the code that reads it (`@_noLocks`).
enum Command: BitwiseCopyable {
    // Calls.
    case attachCall(CallPointer, isActive: Bool)
    case setCallActive(UInt32, Bool)
    case setCallGates(UInt32, hears: Bool, speaks: Bool)
    case detachCall(UInt32)
    /// Apply to calls that start from now on.
    case setPrimeBlocks(Int)
    case setQueueAdapts(Bool)

    // The ALSA PCM of calls.
    case addPCM(PCMPointer)
    case removePCM(UInt32)
    /// The call whose audio the PCM is; nil for none.
    case setPCMCall(UInt32?)

    // Terminals.
    case addTerminal(TerminalPointer)
    case removeTerminal(UInt32)
    case route(UInt32?)
    /// Nil withdraws it.
    case setStandIn(StandIn?)
    case setSpeakerGain(UInt32, Float)
    case setMicrophoneGain(UInt32, Float)
    /// Nil adapts to the link.
    case setSilentLimit(UInt32, nanoseconds: Int64?)
    case setOwnVoice(UInt32, Bool)
    case setStreamDelay(UInt32, milliseconds: Int)
    case setListening(UInt32, Bool)

    // Separately added capture streams.
    case addCapture(CapturePointer)
    case attachCapture(UInt32, terminal: UInt32)
    case setCaptureAlone(UInt32, Bool)
    case removeCapture(UInt32)

    // The uplink to the far end.
    case mute(Muting)
    case setMicrophoneVolume(Float)
    case setApplicationVolume(Float)
    case setVoice(VoicePointer?, VoiceStages)
    case setVoiceStages(VoiceStages)
    case setVoiceBypassed(Bool)
    case attachInjection(InjectionPointer)

    // Manual rendering and taps.
    case attachManual(ManualPointer)
    case detachManual
    case attachTap(TapPointer)
    case detachTap(UInt32)

    // Audio for the user beside the calls.
    case addPlayback(PlaybackPointer)
    case movePlayback(UInt32, PlaybackTarget)
    case endPlayback(UInt32)

    case stop
}
