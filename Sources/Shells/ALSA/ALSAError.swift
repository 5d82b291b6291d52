import Glibc

/// A failure of the sound system: device, call, message and remedy.
package enum ALSAError: Error, Equatable, Sendable {
    /// The device does not exist now. Expected: cards come and go.
    case missing(device: String, advice: String)
    /// Another program has it open. Expected; try again later.
    case busy(device: String, advice: String)
    /// The device cannot do what was requested.
    case unsupported(device: String, what: String)
    /// The card exists but has no such element; `others` are those that it has.
    case lacks(device: String, what: String, others: [String])
    /// Any other failure, with its errno.
    case failed(device: String, call: String, code: Int32, message: String)
}

extension ALSAError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .missing(let device, let advice): "\(device): no such device; \(advice)"
        case .busy(let device, let advice): "\(device): in use; \(advice)"
        case .unsupported(let device, let what): "\(device): \(what)"
        case .lacks(let device, let what, let others):
            "\(device): has no \(what); it has \(others.isEmpty ? "none at all" : others.joined(separator: ", "))"
        case .failed(let device, let call, let code, let message): "\(device): \(call): \(message) (\(code))"
        }
    }
}

extension ALSAError {
    /// Translates a result of alsa-lib.
    ///
    /// - Parameters:
    ///   - result: negative errno.
    ///   - direction: of a PCM; nil for controls.
    init(device: String, call: String, result: Int32, direction: PCMHandle.Direction? = nil) {
        let code = -result
        switch code {
        case ENOENT, ENODEV, ENXIO:
            let list = direction == .capture ? "`arecord -l`" : "`aplay -l`"
            self = .missing(device: device, advice: "see \(list) for the cards and `aplay -L` for the names there are")
        case EBUSY:
            self = .busy(
                device: device, advice: "see `fuser -v /dev/snd/*` for who has it, or share it through dmix and dsnoop")
        case EACCES, EPERM:
            self = .failed(
                device: device, call: call, code: code,
                message: "permission denied; the daemon's user has to be in the group audio")
        default:
            self = .failed(device: device, call: call, code: code, message: String(cString: strerror(code)))
        }
    }
}
