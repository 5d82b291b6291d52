/// Event of the real-time thread: something that happened, or storage that the thread has released for the control side to
/// free.
///
/// It crosses the queue as ``Command`` does.
enum Event: BitwiseCopyable {
    /// Passed to the engine's owner unchanged.
    case happened(AudioEngineEvent)
    /// The call is detached; `callReleased` follows. 0 when its provider closed it, otherwise an errno.
    case callClosed(CallPointer, code: Int32)

    // Released storage.
    case callReleased(CallPointer)
    case pcmRemoved(PCMPointer)
    case terminalRemoved(TerminalPointer)
    case captureRemoved(CapturePointer)
    case voiceReturned(VoicePointer)
    case injectionEnded(InjectionPointer)
    case manualEnded(ManualPointer)
    case tapEnded(TapPointer)
    case playbackEnded(PlaybackPointer)

    /// The event carries storage and must not be lost.
    var carriesStorage: Bool { @_noLocks get { if case .happened = self { false } else { true } } }
}
