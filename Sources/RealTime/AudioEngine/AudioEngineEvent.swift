/// What the real-time thread reports, in the order in which it happened.
package enum AudioEngineEvent: BitwiseCopyable, Equatable, Sendable {
    /// The first packet of a link came, or its size changed.
    case firstPacket(terminal: UInt32, packetBytes: Int)
    /// No packet for longer than the limit (docs/inside/Routing.md §8).
    case linkSilent(terminal: UInt32, afterMilliseconds: Int)
    /// A packet after `linkSilent`; the argument is the length of the silence.
    case linkResumed(terminal: UInt32, afterMilliseconds: Int)
    /// The terminal is dead: an errno, or 0 when its peer closed it. It is not routed any more, but still has to be
    /// removed.
    case terminalFailed(terminal: UInt32, code: Int32)
    /// The thread has let go of the terminal: its owner may close the handles now.
    case terminalRemoved(UInt32)
    /// The cut was made. The gap is how long before it the far end was heard nowhere; 0 when the old terminal ran.
    case routed(UInt32?, gapMicroseconds: Int)
    /// The provider's first block came, or it was given up waiting for: the call is clocked from now on.
    case callStarted(UInt32)
    /// The provider closed the descriptor (0), or it failed (errno). The call is detached already.
    case callClosed(UInt32, code: Int32)
    /// The application has closed its descriptor, and what it said has been said.
    case injectionEnded(UInt32)
    /// The first samples of a capture stream have come, of those that were added by themselves.
    case captureReady(UInt32)
    /// A capture stream that no path reads is dead: an errno. It still has to be removed.
    case captureFailed(UInt32, code: Int32)
    /// The thread has let go of the capture stream: its owner may close the handle now.
    case captureRemoved(UInt32)
    /// Samples of a microphone leave for somebody from now on, or do no more.
    case microphoneLive(Bool)
    /// Manual rendering is over: asked for, or its application has closed a descriptor. Both are closed.
    case manualEnded(UInt32)
    /// The tap is over: asked for, or its recorder has closed the descriptor. It is closed.
    case tapEnded(UInt32)
    /// What the person heard beside the calls is over.
    case playbackEnded(UInt32)
    /// The thread woke more than 20 ms late, this often since the last such report; one report a second at most.
    case deadlineMissed(count: Int)
    /// The person speaks while everything is muted; one report in some seconds at most.
    case speakingWhileMuted
    /// The event queue was full, because nobody took events.
    case eventsLost(count: Int)
}
