import Glibc

/// Blocks threads until a test releases them, like a hanging disk.
package final class Gate: Sendable {
    private let pipe: (read: Int32, write: Int32)

    package init() {
        var ends: [Int32] = [-1, -1]
        Glibc.pipe(&ends)
        pipe = (ends[0], ends[1])
    }

    deinit {
        close(pipe.read)
        close(pipe.write)
    }

    /// Returns when released; call on a thread that may block.
    package func wait() {
        var byte: UInt8 = 0
        _ = read(pipe.read, &byte, 1)
    }

    /// Releases this many waits, including later ones.
    package func release(_ count: Int = 1) {
        let bytes = [UInt8](repeating: 0, count: count)
        _ = bytes.withUnsafeBytes { write(pipe.write, $0.baseAddress, $0.count) }
    }
}
