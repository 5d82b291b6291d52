package import ControlLoop
import Glibc

/// A small file of text in the state directory.
///
/// It is replaced atomically, so that a power cut leaves the old or the new file, never a part of it. Only the daemon's user
/// can read it, whatever the umask, because it may name callers.
package struct StateFile: Sendable {
    /// Longest accepted file in bytes; btcalld writes none longer.
    package static let mostBytes = 1 << 20

    package let directory: String
    package let path: String

    /// - Parameter directory: absolute; created at the first write when it does not exist.
    package init(_ name: String, in directory: String) {
        self.directory = directory
        path = directory + "/" + name
    }

    package var exists: Bool { access(path, F_OK) == 0 }

    /// Replaces the file and waits for the disk: `StateWriter` calls it outside the control loop.
    package func replace(with text: String) throws(SystemError) {
        try OwnFile.makeDirectory(directory)
        try OwnFile.replace(path, with: Array(text.utf8))
    }

    package func read() throws(FileRefusal) -> [UInt8] { try ForeignFile.read(path, atMost: Self.mostBytes) }
}
