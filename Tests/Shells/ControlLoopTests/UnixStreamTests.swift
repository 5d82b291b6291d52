import ControlLoop
import Glibc
import Testing

@Suite struct UnixStreamTests {
    private let name = "@btcall-test/unix-stream/\(getpid())/\(UInt64.random(in: 0...(.max)))"

    @Test func `a full backlog is refused at once, or after the time limit`() throws {
        let listener = try UnixStream.listen(name, backlog: 1)
        var connected: [Int32] = []
        defer { for descriptor in connected + [listener] { close(descriptor) } }
        let refusal = #expect(throws: SystemError.self) {
            while true { connected.append(try UnixStream.connect(name)) }
        }
        #expect(refusal == SystemError(call: "connect", code: EAGAIN))
        #expect(!connected.isEmpty)
        #expect(throws: SystemError(call: "connect", code: ETIMEDOUT)) {
            try UnixStream.connect(name, within: .milliseconds(20))
        }
    }

    @Test func `with a limit each transfer waits for the peer, and ends`() throws {
        let listener = try UnixStream.listen(name)
        let descriptor = try UnixStream.connect(name, within: .milliseconds(20))
        defer { for descriptor in [descriptor, listener] { close(descriptor) } }
        #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK == 0)
        var byte: UInt8 = 0
        let refusal = #expect(throws: SystemError.self) {
            try SystemError.check("recv") { Int32(recv(descriptor, &byte, 1, 0)) }
        }
        #expect(refusal?.code == EAGAIN)
        // The shortest limit is not "no limit".
        let other = try UnixStream.connect(name, within: .zero)
        defer { close(other) }
        #expect(recv(other, &byte, 1, 0) == -1)
    }

    @Test func `nobody at a path, and a path that is too long, are named`() throws {
        #expect(throws: SystemError(call: "connect", code: ECONNREFUSED)) { try UnixStream.connect(name) }
        let long = "/tmp/" + String(repeating: "x", count: 103)
        #expect(throws: SystemError(call: "connect", code: ENAMETOOLONG)) { try UnixStream.connect(long) }
        #expect(throws: SystemError(call: "bind", code: ENAMETOOLONG)) { try UnixStream.listen(long) }
    }
}
