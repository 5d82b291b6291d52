package import ControlLoop
import Glibc

/// Why an input device or a GPIO line is not watched, or a light not set.
package enum BoardInputError: Error, Equatable, Sendable {
    /// The device does not exist now. Expected: devices come and go.
    case missing(device: String, others: [String])
    /// The device exists but has no such key, switch or line.
    case lacks(device: String, what: String, others: [String])
    /// The daemon's user may not open it.
    case denied(path: String)
    /// Another program, or a driver of the kernel, has the line.
    case busy(device: String)
    /// Its file system is mounted read-only for the daemon.
    case readOnly(path: String)
    /// The name belongs to something other than a file of the kernel.
    case unsuitable(device: String, problem: String)
    case failed(device: String, SystemError)
}

extension BoardInputError: CustomStringConvertible {
    package var description: String { what + "; " + remedy }

    /// The problem in one sentence, without the remedy.
    package var what: String {
        switch self {
        case .missing(let device, _): "there is no \(device)"
        case .lacks(let device, let what, _): "\(device) has no \(what)"
        case .denied(let path): "\(path) may not be opened"
        case .busy(let device): "\(device) is in use"
        case .readOnly(let path): "\(path) is read-only for the daemon"
        case .unsuitable(let device, let problem): "\(device) \(problem)"
        case .failed(let device, let error): "\(device): \(error)"
        }
    }

    package var remedy: String {
        switch self {
        case .missing(_, let others): others.isEmpty ? "there is none at all" : "there is " + Self.list(others)
        case .lacks(_, _, let others): others.isEmpty ? "it has none" : "it has " + Self.list(others)
        case .denied: "let the daemon's user open it: udev/70-btcall.rules shows how"
        case .busy: "see `gpioinfo` for who has it"
        case .readOnly: "take ProtectKernelTunables=yes out of the unit, or mount the file system for writing"
        case .unsuitable: "name what the kernel shows below /sys"
        case .failed: "see `dmesg`"
        }
    }

    private static func list(_ words: [String]) -> String {
        words.count <= 12 ? words.joined(separator: ", ") : words.prefix(12).joined(separator: ", ") + " and others"
    }

    /// Translates the errno from opening a device node or requesting a line.
    package init(opening path: String, call: String, code: Int32) {
        switch code {
        case ENOENT, ENODEV, ENXIO: self = .missing(device: path, others: [])
        case EACCES, EPERM: self = .denied(path: path)
        case EBUSY: self = .busy(device: path)
        case EROFS: self = .readOnly(path: path)
        default: self = .failed(device: path, SystemError(call: call, code: code))
        }
    }
}
