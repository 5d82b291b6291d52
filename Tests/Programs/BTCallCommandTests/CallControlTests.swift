import ControlLoop
import Glibc
import TestSupport
import Testing

@testable import BTCall
@testable import BTCallCommand

@Suite @ControlPlane struct CallControlTests {
    /// A foreign process that listens for a call.
    @ControlPlane
    private final class Stranger {
        private let descriptor: Int32
        private var accepted: Int32 = -1

        init(_ name: String) throws { descriptor = try UnixStream.listen(name) }

        /// The bytes written to it; nil until a peer has connected and closed.
        func received() -> [UInt8]? {
            if accepted < 0 { accepted = accept(descriptor, nil, nil) }
            guard accepted >= 0 else { return nil }
            var bytes = [UInt8](repeating: 0, count: 100)
            let count = recv(accepted, &bytes, bytes.count, Int32(MSG_DONTWAIT))
            return count < 0 ? nil : Array(bytes[..<count])
        }

        func end() {
            close(descriptor)
            if accepted >= 0 { close(accepted) }
        }
    }

    @Test func `a call's owner listens despite names taken by others, and gets the update`() async throws {
        let id = Call.ID(text: "owner-\(getpid())")
        // The name that was once the only one, and one before all others.
        let plain = try Stranger("@btcall/call/\(id)")
        let first = try Stranger(CallControl.prefix(id) + "!")
        defer {
            plain.end()
            first.end()
        }
        var messages: [ProviderMessage] = []
        let control = try CallControl(id) { messages.append($0) }
        var asked = 0
        try await CallControl.update(id, .active, nil) { peer in
            #expect(peer.user == geteuid() && peer.groups.contains(getegid()))
            asked += 1
            return asked > 1
        }
        #expect(asked == 2 && messages.count == 1)
        #expect(first.received() == [])
        #expect(plain.received() == nil)
        withExtendedLifetime(control) {}
    }

    @Test func `an update is not sent to a stranger`() async throws {
        let id = Call.ID(text: "stranger-\(getpid())")
        let stranger = try Stranger(CallControl.prefix(id) + "1")
        defer { stranger.end() }
        await #expect(throws: SystemError(call: "connect", code: ECONNREFUSED)) {
            try await CallControl.update(id, .ended, .busy) { _ in false }
        }
        #expect(stranger.received() == [])
    }

    @Test func `a stranger that does not accept does not delay an update`() async throws {
        let id = Call.ID(text: "queue-\(getpid())")
        let name = CallControl.prefix(id) + "1"
        let stranger = try Stranger(name)
        var connected: [Int32] = []
        defer {
            stranger.end()
            for descriptor in connected { close(descriptor) }
        }
        while let next = try? UnixStream.connect(name) { connected.append(next) }
        #expect(!connected.isEmpty)
        await #expect(throws: SystemError(call: "connect", code: EAGAIN)) {
            try await CallControl.update(id, .ended, nil, within: .milliseconds(200)) { _ in true }
        }
    }

    @Test func `the same user is trusted, and root also trusts users who may report calls`() {
        let member = SocketPeer(user: 1000, groups: [1000, 50])
        let other = SocketPeer(user: 65534, groups: [65534])
        #expect(CallControl.isTrusted(member, by: 1000, group: nil))
        #expect(CallControl.isTrusted(member, by: 0, group: 50))
        #expect(!CallControl.isTrusted(member, by: 0, group: nil))
        #expect(!CallControl.isTrusted(member, by: 1001, group: 50))
        #expect(!CallControl.isTrusted(other, by: 0, group: 50))
        #expect(!CallControl.isTrusted(other, by: 1000, group: 50))
    }
}
