/// Event of the real-time thread; events arrive in the order in which they happened.
package enum AudioEngineEvent: BitwiseCopyable, Equatable, Sendable {
    /// The first packet of a link arrived, or its packet size changed.
    case firstPacket(terminal: UInt32, packetBytes: Int)
    /// No sign of life for longer than the limit (docs/inside/Routing.md §8). `standIn`: the terminal to which the thread has
    /// already switched or is switching, as ``AudioEngine/setStandIn(_:)`` prepared; `routed` follows.
    case linkSilent(terminal: UInt32, afterMilliseconds: Int, standIn: UInt32?)
    /// A sign of life after `linkSilent`; the argument is the length of the silence.
    case linkResumed(terminal: UInt32, afterMilliseconds: Int)
    /// The terminal is dead: an errno, or 0 when its peer closed it. It is no longer routed, but still has to be removed.
    case terminalFailed(terminal: UInt32, code: Int32)
    /// The thread has released the terminal: its owner may close the handles now.
    case terminalRemoved(UInt32)
    /// The switch was made. The gap is how long before it nobody heard the far end; 0 when the old terminal was running.
    case routed(UInt32?, gapMicroseconds: Int)
    /// The provider's first block arrived, or its timeout ended: the call is clocked from now on.
    case callStarted(UInt32)
    /// The provider closed the descriptor (0), or it failed (errno). The call is detached already.
    case callClosed(UInt32, code: Int32)
    /// The application closed its descriptor, and all its audio has been played.
    case injectionEnded(UInt32)
    /// The first samples of a separately added capture stream have arrived.
    case captureReady(UInt32)
    /// A capture stream that no path reads is dead: an errno. It still has to be removed.
    case captureFailed(UInt32, code: Int32)
    /// The thread has released the capture stream: its owner may close the handle now.
    case captureRemoved(UInt32)
    /// A microphone's samples started or stopped leaving the process.
    case microphoneLive(Bool)
    /// Manual rendering ended: on request, or because its application closed a descriptor. Both descriptors are closed.
    case manualEnded(UInt32)
    /// The tap ended: on request, or because its recorder closed the descriptor. It is closed.
    case tapEnded(UInt32)
    /// A playback ended.
    case playbackEnded(UInt32)
    /// The thread woke more than 20 ms late; count since the last such report, at most one report a second.
    case deadlineMissed(count: Int)
    /// The user speaks while everything is muted; at most one report every few seconds.
    case speakingWhileMuted
    /// The event queue overflowed because its events were not taken.
    case eventsLost(count: Int)
}
