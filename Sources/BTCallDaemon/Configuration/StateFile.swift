package import ControlLoop
import Glibc

/// A small file of text in the state directory.
///
/// It is replaced as a whole (write, sync, rename, sync of the directory), so that a power cut leaves the old or the new one,
/// never half of it.
package struct StateFile: Sendable {
    package let directory: String
    package let path: String

    /// - Parameter directory: absolute; made when something is written and it does not exist.
    package init(_ name: String, in directory: String) {
        self.directory = directory
        path = directory + "/" + name
    }

    package var exists: Bool { access(path, F_OK) == 0 }

    package func replace(with text: String) throws(SystemError) {
        if mkdir(directory, 0o755) != 0, errno != EEXIST { throw SystemError(call: "mkdir", code: errno) }
        let temporary = path + ".new"
        let descriptor = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw SystemError(call: "open", code: errno) }
        do throws(SystemError) {
            try Self.write(Array(text.utf8), to: descriptor)
        } catch {
            close(descriptor)
            throw error
        }
        close(descriptor)
        guard rename(temporary, path) == 0 else { throw SystemError(call: "rename", code: errno) }
        let parent = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard parent >= 0 else { return }
        // The rename has happened; a file system that cannot sync a directory has no better to offer.
        fsync(parent)
        close(parent)
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw SystemError(call: "write", code: errno) }
            written += count
        }
        guard fsync(descriptor) == 0 else { throw SystemError(call: "fsync", code: errno) }
    }
}
