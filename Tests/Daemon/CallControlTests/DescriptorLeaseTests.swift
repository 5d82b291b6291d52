import BTCallAPI
import CallControl
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

@Suite @ControlPlane struct DescriptorLeaseTests {
    /// Counts the releases of a lease.
    @ControlPlane private final class Counter {
        var releases = 0
    }

    /// Lets the control loop handle all pending events.
    private func turns() async {
        for _ in 0..<4 {
            await withCheckedContinuation { continuation in
                ControlLoop.shared.perform { continuation.resume() }
            }
        }
    }

    @Test func `A lease ends when the last copy of the holder's end is closed`() async throws {
        let counter = Counter()
        let (held, end) = try DescriptorLease.make { counter.releases += 1 }
        let copy = try PassedDescriptor(duplicating: end.descriptor)
        close(end.take())
        await turns()
        #expect(counter.releases == 0)
        close(copy.take())
        try await eventually("the lease has ended") { counter.releases > 0 }
        #expect(counter.releases == 1)
        held.cancel()
        #expect(counter.releases == 1)
    }

    @Test func `Bytes written by the holder are discarded and do not end the lease`() async throws {
        let counter = Counter()
        let (held, end) = try DescriptorLease.make { counter.releases += 1 }
        let bytes = [UInt8](repeating: 7, count: 60_000)
        let written = bytes.withUnsafeBytes { write(end.descriptor, $0.baseAddress, $0.count) }
        #expect(written == bytes.count)
        // A full pipe accepts no more bytes: room shows that it was read.
        var room = pollfd(fd: end.descriptor, events: Int16(POLLOUT), revents: 0)
        try await eventually("it was read") { poll(&room, 1, 0) == 1 && room.revents == Int16(POLLOUT) }
        #expect(counter.releases == 0)
        close(end.take())
        try await eventually("the lease has ended") { counter.releases == 1 }
        held.cancel()
    }

    @Test func `A lease that btcalld ends is not reported, and its holder sees it`() async throws {
        let counter = Counter()
        let (held, end) = try DescriptorLease.make { counter.releases += 1 }
        held.cancel()
        var broken = pollfd(fd: end.descriptor, events: 0, revents: 0)
        #expect(poll(&broken, 1, 0) == 1)
        #expect(broken.revents == Int16(POLLERR))
        close(end.take())
        await turns()
        #expect(counter.releases == 0)
    }

    @Test func `A list has a limit, and room again after a release`() async throws {
        let list = LeaseList<Int>(limit: 2)
        var released: [Int] = []
        list.onReleased = { released.append($0.claim) }
        let first = try list.add(1, of: ":1.1")
        let second = try list.add(2, of: ":1.2")
        let refusal = #expect(throws: APIError.self) { try list.add(3, of: ":1.3") }
        #expect(refusal?.code == .wrongState)
        close(first.take())
        try await eventually("the first has let go") { released == [1] }
        let third = try list.add(3, of: ":1.2")
        #expect(list.remove(of: ":1.2") == 2)
        #expect(list.holders.isEmpty)
        close(second.take())
        close(third.take())
        await turns()
        #expect(released == [1])
    }
}
