/// Reason for a failed audio connection; the shell maps its own errors to these.
package enum AudioFailure: Hashable, Sendable {
    case refused, timedOut, failed
    /// The adapter does not support the codec at all.
    case unsupportedCodec
    /// Another set-up is in progress or the headset is in use; no codec helps.
    case busy
    case cancelled
    /// AT+BCS did not arrive, or was wrong twice.
    case unanswered

    /// Whether the next lower codec is worth trying.
    package var mayBeTheCodec: Bool {
        switch self {
        case .refused, .timedOut, .failed, .unsupportedCodec, .unanswered: true
        case .busy, .cancelled: false
        }
    }
}
