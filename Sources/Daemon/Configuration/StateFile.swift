package import ControlLoop
import Glibc

/// A small file of text in the state directory.
///
/// It is replaced as a whole, so that a power cut leaves the old or the new one, never half of it. Nobody but the daemon's user
/// reads it, whatever the umask is: it may say who called.
package struct StateFile: Sendable {
    /// More than this is not ours.
    package static let mostBytes = 1 << 20

    package let directory: String
    package let path: String

    /// - Parameter directory: absolute; made when something is written and it does not exist.
    package init(_ name: String, in directory: String) {
        self.directory = directory
        path = directory + "/" + name
    }

    package var exists: Bool { access(path, F_OK) == 0 }

    /// Waits until the disk has it: `StateWriter` calls it beside the control loop.
    package func replace(with text: String) throws(SystemError) {
        try OwnFile.makeDirectory(directory)
        try OwnFile.replace(path, with: Array(text.utf8))
    }

    package func read() throws(FileRefusal) -> [UInt8] { try ForeignFile.read(path, atMost: Self.mostBytes) }
}
