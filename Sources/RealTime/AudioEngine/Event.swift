/// What comes out of the real-time thread: facts, and the storage that it lets go of, which the control side frees.
///
/// It crosses the queue as ``Command`` does.
enum Event: BitwiseCopyable {
    /// For the engine's owner as it is.
    case happened(AudioEngineEvent)
    /// The call is detached; `callReleased` follows. 0 when its provider closed it, else an errno.
    case callClosed(CallPointer, code: Int32)

    // Given back.
    case callReleased(CallPointer)
    case pcmRemoved(PCMPointer)
    case terminalRemoved(TerminalPointer)
    case captureRemoved(CapturePointer)
    case voiceReturned(VoicePointer)
    case injectionEnded(InjectionPointer)
    case manualEnded(ManualPointer)
    case tapEnded(TapPointer)
    case playbackEnded(PlaybackPointer)

    /// It carries storage: it must not be lost.
    var carriesStorage: Bool { @_noLocks get { if case .happened = self { false } else { true } } }
}
