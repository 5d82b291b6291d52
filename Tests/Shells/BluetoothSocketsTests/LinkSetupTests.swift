import BluetoothTypes
import ControlLoop
import Glibc
import Testing

@testable import BluetoothSockets

/// The wait for a connection, on sockets that every kernel has.
@Suite @ControlPlane
struct LinkSetupTests {
    private func deadline(_ duration: Duration) -> Instant { ControlLoop.now.advanced(by: duration) }

    /// A socket that is neither writable nor in error until its peer reads.
    private func fill(_ pair: borrowing SocketPair) throws {
        try markNonBlocking(pair.ours)
        let block = [UInt8](repeating: 0, count: 4096)
        while write(pair.ours, block, block.count) > 0 {}
    }

    @Test func `a socket that becomes writable is up`() async throws {
        let pair = try SocketPair()
        try await LinkSetup(descriptor: pair.ours, codec: .cvsd).established(by: deadline(.seconds(10))).get()
        close(pair.ours)
    }

    @Test func `a set-up that takes too long ends with timedOut, on time`() async throws {
        let pair = try SocketPair()
        try fill(pair)
        let start = ControlLoop.now
        await #expect(throws: AudioLinkError.timedOut) {
            try await LinkSetup(descriptor: pair.ours, codec: .cvsd).established(by: deadline(.milliseconds(50))).get()
        }
        let elapsed = start.duration(to: ControlLoop.now)
        #expect(elapsed >= .milliseconds(50))
        close(pair.ours)
    }

    @Test func `a cancelled set-up ends with cancelled`() async throws {
        let pair = try SocketPair()
        try fill(pair)
        let setup = LinkSetup(descriptor: pair.ours, codec: .cvsd)
        ControlLoop.shared.perform {
            setup.cancel()
            setup.cancel()
        }
        await #expect(throws: AudioLinkError.cancelled) {
            try await setup.established(by: deadline(.seconds(10))).get()
        }
        close(pair.ours)
    }

    @Test func `a set-up whose task is cancelled ends with cancelled`() async throws {
        let pair = try SocketPair()
        try fill(pair)
        let descriptor = pair.ours
        let task = Task { @ControlPlane in
            await #expect(throws: AudioLinkError.cancelled) {
                try await LinkSetup(descriptor: descriptor, codec: .cvsd).established(by: deadline(.seconds(10))).get()
            }
        }
        ControlLoop.shared.perform { task.cancel() }
        _ = await task.value
        close(pair.ours)
    }

    @Test func `a set-up that was cancelled before it began ends with cancelled`() async throws {
        let pair = try SocketPair()
        let setup = LinkSetup(descriptor: pair.ours, codec: .cvsd)
        setup.cancel()
        await #expect(throws: AudioLinkError.cancelled) {
            try await setup.established(by: deadline(.seconds(10))).get()
        }
        close(pair.ours)
    }

    @Test func `a peer that goes away during the set-up causes lost`() async throws {
        let ours: Int32
        do {
            let pair = try SocketPair()
            try fill(pair)
            ours = pair.ours
        }
        await #expect(throws: AudioLinkError.lost) {
            try await LinkSetup(descriptor: ours, codec: .cvsd).established(by: deadline(.seconds(10))).get()
        }
        close(ours)
    }

    @Test func `an abandoned set-up holds its socket until it is decided, then closes it`() async throws {
        let pair = try SocketPair()
        try fill(pair)
        AbandonedSetup(SocketHandle(owning: pair.ours))
        #expect(fcntl(pair.ours, F_GETFD) >= 0)
        // Room in the buffer looks like the end of a set-up; then the peer sees the end after the filling.
        var count = 1
        while count > 0 {
            count = pair.receive().count
            await withCheckedContinuation { continuation in
                ControlLoop.shared.schedule(after: .milliseconds(1)) { continuation.resume() }
            }
        }
    }

    @Test func `a connection that the peer refuses ends with refused`() async throws {
        let type = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue)
        // A port without a listener: bound, never listening, until the end of the test.
        let holder = socket(AF_INET, type, 0)
        var name = sockaddr_in()
        name.sin_family = sa_family_t(AF_INET)
        name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let client = socket(AF_INET, type, 0)
        withUnsafeMutablePointer(to: &name) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                #expect(bind(holder, address, length) == 0)
                #expect(getsockname(holder, address, &length) == 0)
                #expect(connect(client, address, length) == -1)
            }
        }
        await #expect(throws: AudioLinkError.refused) {
            try await LinkSetup(descriptor: client, codec: .cvsd).established(by: deadline(.seconds(10))).get()
        }
        close(client)
        close(holder)
    }
}
