package import ControlLoop

/// Why a ring of frames cannot be used.
package enum FrameRingError: Error, Equatable, Sendable {
    /// A picture that no ring can have, with what is accepted.
    case unaccepted(String)
    /// Memory that is no ring, or not one of this version: what is wrong with it.
    case invalid(String)
    case failed(SystemError)
}

extension FrameRingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unaccepted(let text): text
        case .invalid(let text): "not a ring of frames: \(text)"
        case .failed(let error): "\(error)"
        }
    }
}
