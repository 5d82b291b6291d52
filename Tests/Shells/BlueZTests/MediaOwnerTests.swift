import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import TestSupport
import Testing

@testable import BlueZ

/// Streams of other programs.
@Suite @ControlPlane
struct MediaOwnerTests {
    let first = BlueZFixture.first
    let second = BlueZFixture.second

    /// A program that was on the bus before btcall, with a stream to the first headset.
    private func occupied(
        _ name: String? = "org.bluealsa"
    ) async throws -> (fixture: MediaFixture, program: FakeMediaProgram, stream: String) {
        let fixture = try await MediaFixture()
        let program = try await FakeMediaProgram(on: fixture.base.privateBus.address, name: name)
        await fixture.source.stop()
        try await program.register()
        let stream = try await fixture.fake.configureMedia(of: first)
        fixture.source.start()
        while try await fixture.events.next() != .registered {}
        return (fixture, program, stream)
    }

    @Test func `streams of other programs are followed without an endpoint of our own`() async throws {
        let (fixture, program, stream) = try await occupied()
        defer { fixture.stop() }
        _ = try await foreign(fixture)
        fixture.source.isServing = false
        // That program's registration remains.
        try await fixture.becomes { $0.fake.media.endpoints.count == 1 }
        try await program.acquire(stream)
        try await fixture.isNext(.foreignPlaying(first, true))
        #expect(fixture.source.isForeignPlaying(first))
    }

    private func foreign(_ fixture: MediaFixture) async throws -> BusPeer? {
        let event = try await fixture.events.next()
        guard case .foreign(let address, let owner) = event else {
            Issue.record("\(event)")
            return nil
        }
        #expect(address == first)
        return owner
    }

    @Test func `a stream of another program is reported with its owner, and not as ours`() async throws {
        let (fixture, program, stream) = try await occupied()
        defer { fixture.stop() }
        let owner = try #require(try await foreign(fixture))
        #expect(owner.program == .bluealsa && owner.uniqueName == program.bus.uniqueName)
        #expect(fixture.source.foreignOwner(of: first) == owner)
        #expect(fixture.log.containing("First (00:1B:DC:08:00:11)", "\(owner)", "-p a2dp-source").count == 1)
        let outcome = await MediaFixture.outcome(of: fixture.source, first)
        #expect(outcome == MediaError.foreign(owner).description && outcome.contains("-p a2dp-source"))
        #expect(fixture.source.transport(of: first) == nil && !fixture.source.isForeignPlaying(first))
        try await program.acquire(stream)
        try await fixture.isNext(.foreignPlaying(first, true))
        #expect(fixture.source.isForeignPlaying(first) && !fixture.source.isForeignPlaying(second))
        try await program.release(stream)
        try await fixture.isNext(.foreignPlaying(first, false))
        #expect(!fixture.source.isForeignPlaying(first))
        try await program.acquire(stream)
        try await fixture.isNext(.foreignPlaying(first, true))
        program.leave()
        try await fixture.isNext(.foreignPlaying(first, false))
        try await fixture.isNext(.foreignGone(first))
        #expect(fixture.source.foreignOwner(of: first) == nil)
        // The next stream is ours.
        try await fixture.configure()
    }

    @Test func `a stream of an unknown program is reported without a name`() async throws {
        let (fixture, program, _) = try await occupied(nil)
        defer { fixture.stop() }
        #expect(try await foreign(fixture) == nil)
        #expect(fixture.log.containing("belongs to another program", "busctl list").count == 1)
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.foreign(nil).description)
        program.leave()
        try await fixture.isNext(.foreignGone(first))
    }

    @Test func `a program that comes later does not take our streams`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        let program = try await FakeMediaProgram(on: fixture.base.privateBus.address)
        defer { program.leave() }
        try await program.register()
        _ = try await fixture.source.acquire(first)
        try await fixture.isNext(.stateChanged(first, .active))
        let path = try #require(fixture.source.transport(of: first)?.path)
        await #expect(throws: BusError.self) { try await program.acquire(path) }
        // The endpoint that was registered first is selected first.
        try await fixture.configure(second)
        #expect(program.transports.isEmpty)
    }

    @Test func `our own streams are never taken for another's, however many come and go`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        for _ in 0..<50 {
            try await fixture.configure(first)
            try await fixture.configure(second)
            fixture.fake.dropMedia(of: first)
            fixture.fake.disconnect(second)
            try await fixture.isNext(.cleared(first))
            try await fixture.isNext(.cleared(second))
        }
        #expect(fixture.events.pending.isEmpty)
    }

    @Test func `another program's stream goes with bluetoothd, and is found again with it`() async throws {
        let (fixture, program, _) = try await occupied()
        defer { fixture.stop() }
        _ = try await foreign(fixture)
        fixture.fake.stop()
        try await fixture.isNext(.foreignGone(first))
        try await fixture.fake.start()
        try await fixture.isNext(.registered)
        try await program.register()
        #expect(fixture.fake.media.endpoints.count == 2)
    }
}
