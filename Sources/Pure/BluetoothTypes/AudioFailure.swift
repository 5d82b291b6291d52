/// Why an audio connection did not come about; the shell maps its own errors to these.
package enum AudioFailure: Hashable, Sendable {
    case refused, timedOut, failed
    /// The adapter cannot do the codec at all.
    case unsupportedCodec
    /// Another set-up is in flight or the headset is taken; no codec helps.
    case busy
    case cancelled
    /// AT+BCS did not come, or was wrong twice.
    case unanswered

    /// Whether the next lower codec is worth trying.
    package var mayBeTheCodec: Bool {
        switch self {
        case .refused, .timedOut, .failed, .unsupportedCodec, .unanswered: true
        case .busy, .cancelled: false
        }
    }
}
