import Glibc

/// Holds threads up until a test lets them go: what a disk that hangs does to whoever uses it.
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

    /// Returns when it was let through; on a thread that may block.
    package func wait() {
        var byte: UInt8 = 0
        _ = read(pipe.read, &byte, 1)
    }

    /// Lets so many through, also those that come later.
    package func release(_ count: Int = 1) {
        let bytes = [UInt8](repeating: 0, count: count)
        _ = bytes.withUnsafeBytes { write(pipe.write, $0.baseAddress, $0.count) }
    }
}
