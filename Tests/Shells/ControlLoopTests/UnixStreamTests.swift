import ControlLoop
import Glibc
import Testing

@Suite @ControlPlane struct UnixStreamTests {
    private let name = "@btcall-test/unix-stream/\(getpid())/\(UInt64.random(in: 0...(.max)))"

    private func refusal(_ body: () async throws -> Void) async -> SystemError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? SystemError
        }
    }

    @Test func `a full backlog is refused at once, or after the time limit`() async throws {
        let listener = try UnixStream.listen(name, backlog: 1)
        var connected: [Int32] = []
        defer { for descriptor in connected + [listener] { close(descriptor) } }
        let atOnce = await refusal {
            while true { connected.append(try UnixStream.connect(name)) }
        }
        #expect(atOnce == SystemError(call: "connect", code: EAGAIN))
        #expect(!connected.isEmpty)
        let later = await refusal { connected.append(try await UnixStream.connect(name, within: .milliseconds(20))) }
        #expect(later == SystemError(call: "connect", code: ETIMEDOUT))
    }

    @Test func `a connection waits until there is room in the backlog`() async throws {
        let listener = try UnixStream.listen(name, backlog: 1)
        var connected: [Int32] = []
        defer { for descriptor in connected + [listener] { close(descriptor) } }
        _ = await refusal {
            while true { connected.append(try UnixStream.connect(name)) }
        }
        let (listening, path) = (listener, name)
        let room = Task { @ControlPlane in accept(listening, nil, nil) }
        connected.append(try await UnixStream.connect(path, within: .seconds(30)))
        connected.append(await room.value)
    }

    @Test func `nobody at a path, and a path that is too long, are named`() async {
        let long = "/tmp/" + String(repeating: "x", count: 103)
        let refused = await refusal { _ = try UnixStream.connect(name) }
        #expect(refused == SystemError(call: "connect", code: ECONNREFUSED))
        #expect(await refusal { _ = try UnixStream.connect(long) } == SystemError(call: "connect", code: ENAMETOOLONG))
        #expect(await refusal { _ = try UnixStream.listen(long) } == SystemError(call: "bind", code: ENAMETOOLONG))
    }

    @Test func `a socket is read until its end, up to the limit, and one that does not end is timed out`() async throws
    {
        let listener = try UnixStream.listen(name)
        let descriptor = try UnixStream.connect(name)
        let peer = accept(listener, nil, nil)
        defer { for descriptor in [descriptor, listener] { close(descriptor) } }
        let text = [UInt8](repeating: 0x61, count: 10_000)
        #expect(send(peer, text, text.count, 0) == text.count)
        let reading = await refusal {
            _ = try await SocketReading.bytes(of: descriptor, atMost: 100, within: .milliseconds(20))
        }
        #expect(reading?.code == ETIMEDOUT)
        #expect(send(peer, text, text.count, 0) == text.count)
        close(peer)
        let rest = try await SocketReading.bytes(of: descriptor, atMost: 4_100, within: .seconds(30))
        #expect(rest.count == 4_100)
    }
}
