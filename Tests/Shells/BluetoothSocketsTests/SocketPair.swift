import ControlLoop
import Glibc
import Testing

/// Two connected sockets; `ours` goes to the tested object, `theirs` plays the headset and is closed in the end.
struct SocketPair: ~Copyable {
    let ours: Int32
    let theirs: Int32

    init() throws {
        var ends: [Int32] = [-1, -1]
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        ours = ends[0]
        theirs = ends[1]
    }

    deinit { _ = Glibc.close(theirs) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        #expect(write(theirs, bytes, bytes.count) == bytes.count)
    }

    /// Reads the available bytes, waiting for the first one.
    func receive(_ limit: Int = 65536) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: limit)
        let count = read(theirs, &buffer, limit)
        return Array(buffer.prefix(max(count, 0)))
    }
}
