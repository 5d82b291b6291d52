/// What the real-time thread reports, in the order in which it happened.
package enum AudioEngineEvent: Equatable, Sendable {
    /// The first packet of a link came, or its size changed.
    case firstPacket(terminal: UInt32, packetBytes: Int)
    /// No packet for longer than the limit (ROUTING.md section 8).
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
    /// What the person heard beside the calls is over.
    case playbackEnded(UInt32)
    /// The thread woke more than 20 ms late, this often since the last such report; one report a second at most.
    case deadlineMissed(count: Int)
    /// The event queue was full, because nobody took events.
    case eventsLost(count: Int)
}
