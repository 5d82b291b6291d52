import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

@testable import BlueZ

/// The course of streams after their set-up.
@Suite @ControlPlane
struct MediaStreamTests {
    let first = BlueZFixture.first
    let second = BlueZFixture.second

    @Test func `data written to an acquired stream reaches the headset`() async throws {
        let fixture = try await MediaFixture { $0.media.writeMTU = 679 }
        defer { fixture.stop() }
        try await fixture.configure()
        let stream = try await fixture.source.acquire(first)
        #expect(stream.writeMTU == 679 && stream.bitpool == 51)
        #expect(stream.configuration == fixture.source.transport(of: first)?.configuration)
        #expect(fcntl(stream.descriptor.descriptor, F_GETFL) & O_NONBLOCK != 0)
        try await fixture.isNext(.stateChanged(first, .active))
        for packet: [UInt8] in [[1, 2, 3], [4]] {
            #expect(send(stream.descriptor.descriptor, packet, packet.count, Int32(MSG_NOSIGNAL)) == packet.count)
        }
        #expect(fixture.fake.receiveMedia(of: first) == [[1, 2, 3], [4]])
        await fixture.source.release(first)
        #expect(fixture.fake.mediaState(of: first) == "idle" && fixture.fake.mediaOwner(of: first) == nil)
        try await fixture.isNext(.stateChanged(first, .idle))
        // Again.
        _ = try await fixture.source.acquire(first)
        try await fixture.isNext(.stateChanged(first, .active))
        #expect(fixture.fake.media.requests == ["Acquire", "Release", "Acquire"])
    }

    @Test func `two headsets stream beside each other`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure(first)
        try await fixture.configure(second)
        let one = try await fixture.source.acquire(first)
        let other = try await fixture.source.acquire(second)
        _ = send(one.descriptor.descriptor, [1], 1, Int32(MSG_NOSIGNAL))
        _ = send(other.descriptor.descriptor, [2], 1, Int32(MSG_NOSIGNAL))
        #expect(fixture.fake.receiveMedia(of: first) == [[1]] && fixture.fake.receiveMedia(of: second) == [[2]])
        await fixture.source.release(first)
        #expect(fixture.fake.mediaState(of: second) == "active")
        fixture.fake.dropMedia(of: first)
        try await fixture.becomes { $0.source.configured == [second] }
    }

    @Test func `a stream that the headset has started is taken while it runs`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        fixture.fake.startMedia(of: first)
        try await fixture.isNext(.stateChanged(first, .pending))
        _ = try await fixture.source.acquire(first)
        try await fixture.isNext(.stateChanged(first, .active))
        #expect(fixture.fake.media.requests == ["TryAcquire"])
    }

    @Test func `a headset that stops again at the same moment is started`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        fixture.fake.startMedia(of: first)
        try await fixture.isNext(.stateChanged(first, .pending))
        // bluetoothd knows it already, and reports it only after the request was sent.
        let acquisition = Task { @ControlPlane in await MediaFixture.outcome(of: fixture.source, first) }
        fixture.fake.suspendMedia(of: first)
        #expect(await acquisition.value == "stream")
        #expect(fixture.fake.media.requests.last == "Acquire")
        #expect(fixture.fake.mediaOwner(of: first) != nil)
    }

    @Test func `a headset that suspends takes its stream back, which can be acquired again`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        _ = try await fixture.source.acquire(first)
        try await fixture.isNext(.stateChanged(first, .active))
        fixture.fake.suspendMedia(of: first)
        try await fixture.isNext(.stateChanged(first, .idle))
        await fixture.source.release(first)
        #expect(fixture.fake.media.requests == ["Acquire"], "there was nothing to release")
        _ = try await fixture.source.acquire(first)
        try await fixture.isNext(.stateChanged(first, .active))
    }

    @Test func `volume and delay are reported in both directions`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.fake.configureMedia(of: first, volume: 60, delay: 1500)
        try await fixture.isNext(.configured(first))
        #expect(fixture.source.transport(of: first)?.volume == 60)
        #expect(fixture.source.transport(of: first)?.delay == .milliseconds(150))
        fixture.fake.setMediaVolume(64, of: first)
        try await fixture.isNext(.volumeChanged(first, 64))
        fixture.fake.reportMediaDelay(2005, of: first)
        try await fixture.isNext(.delayChanged(first, .microseconds(200_500)))
        for (asked, got) in [(100, 100), (1000, 127), (-1, 0)] {
            #expect(fixture.source.setVolume(asked, of: first))
            try await fixture.isNext(.volumeChanged(first, got))
            #expect(fixture.fake.mediaVolume(of: first) == UInt16(got))
        }
    }

    @Test func `a headset has no volume until it reports one`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        #expect(fixture.source.transport(of: first)?.volume == nil)
        #expect(!fixture.source.setVolume(10, of: first) && !fixture.source.setVolume(10, of: second))
        fixture.fake.setMediaVolume(20, of: first)
        try await fixture.isNext(.volumeChanged(first, 20))
        fixture.fake.reportMediaDelay(100, of: first)
        try await fixture.isNext(.delayChanged(first, .milliseconds(10)))
        // A value that is out of range, or of another type, is no volume.
        fixture.fake.tellMedia("Volume", .uint16(128), first)
        try await fixture.becomes { $0.source.transport(of: first)?.volume == nil }
        fixture.fake.tellMedia("Volume", "loud", first)
        fixture.fake.tellMedia("State", "broadcasting", first)
        fixture.fake.tellMedia("Volume", .uint16(21), first)
        try await fixture.isNext(.volumeChanged(first, 21))
        #expect(fixture.log.containing("Volume", "type s, expected q").count == 1)
    }

    // MARK: Refusals and races

    @Test func `acquiring from a headset without a stream fails with the reason`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.notConfigured.description)
        await fixture.source.release(first)
        #expect(fixture.fake.media.requests.isEmpty)
    }

    @Test func `a refused start is reported, and can be repeated`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .refuses }
        defer { fixture.stop() }
        try await fixture.configure()
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.refused.description)
        fixture.fake.media.startAnswer = .accepts
        #expect(await MediaFixture.outcome(of: fixture.source, first) == "stream")
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.alreadyAcquired.description)
    }

    @Test func `one acquisition at a time`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        try await fixture.configure()
        let acquisition = try await fixture.acquiring()
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.inProgress.description)
        fixture.fake.answerStarts(true)
        #expect(await acquisition.value == "stream")
        #expect(fixture.fake.media.requests == ["Acquire"])
    }

    @Test func `a stream that goes while it is acquired ends the acquisition`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        try await fixture.configure()
        let acquisition = try await fixture.acquiring()
        fixture.fake.dropMedia(of: first)
        #expect(await acquisition.value == MediaError.gone.description)
        try await fixture.isNext(.cleared(first))
        #expect(fixture.fake.media.requests == ["Acquire"])
        try await fixture.configure()
    }

    @Test func `a bluetoothd that dies while a stream is acquired ends the acquisition`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        for _ in 0..<10 {
            try await fixture.configure()
            let acquisition = try await fixture.acquiring()
            fixture.fake.stop()
            let outcome = await acquisition.value
            // Whether the bus or the name reports it first is not determined.
            let possible: [MediaError] = [.serviceAbsent, .timedOut]
            #expect(possible.map(\.description).contains(outcome))
            try await fixture.isNext(.cleared(first))
            try await fixture.fake.start()
            try await fixture.isNext(.registered)
        }
    }

    @Test func `releasing cancels a pending acquisition, and bluetoothd is notified`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        try await fixture.configure()
        let acquisition = try await fixture.acquiring()
        await fixture.source.release(first)
        #expect(await acquisition.value == MediaError.cancelled.description)
        #expect(fixture.fake.mediaOwner(of: first) == nil && fixture.fake.media.requests == ["Acquire", "Release"])
        fixture.fake.media.startAnswer = .accepts
        #expect(await MediaFixture.outcome(of: fixture.source, first) == "stream")
    }

    @Test func `a cancelled task cancels its acquisition`() async throws {
        let fixture = try await MediaFixture { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        try await fixture.configure()
        let acquisition = try await fixture.acquiring()
        acquisition.cancel()
        #expect(await acquisition.value == MediaError.cancelled.description)
        try await fixture.becomes { $0.fake.media.requests == ["Acquire", "Release"] }
        try await fixture.becomes { $0.fake.mediaOwner(of: first) == nil }
        let cancelled = Task { @ControlPlane in
            withUnsafeCurrentTask { $0?.cancel() }
            return await MediaFixture.outcome(of: fixture.source, first)
        }
        #expect(await cancelled.value == MediaError.cancelled.description)
        #expect(fixture.fake.media.requests == ["Acquire", "Release"], "bluetoothd was not asked")
    }

    @Test func `an acquisition times out when the headset does not answer`() async throws {
        let fixture = try await MediaFixture(acquireTimeout: .milliseconds(30)) { $0.media.startAnswer = .nothing }
        defer { fixture.stop() }
        try await fixture.configure()
        #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.timedOut.description)
        try await fixture.becomes { $0.fake.media.requests == ["Acquire", "Release"] }
        try await fixture.becomes { $0.fake.mediaOwner(of: first) == nil }
    }

    @Test func `an acquisition waits for the release before it`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        _ = try await fixture.source.acquire(first)
        let gate = Signalled()
        fixture.fake.media.onRelease = { await gate.wait() }
        let release = Task { @ControlPlane in await fixture.source.release(first) }
        try await fixture.becomes { $0.fake.media.requests == ["Acquire", "Release"] }
        let acquisition = Task { @ControlPlane in await MediaFixture.outcome(of: fixture.source, first) }
        gate.set()
        #expect(await acquisition.value == "stream")
        await release.value
        #expect(fixture.fake.media.requests == ["Acquire", "Release", "Acquire"])
        #expect(fixture.fake.mediaOwner(of: first) != nil)
    }

    @Test func `packets too small for the wanted bitpool get a lower one, or none`() async throws {
        let fixture = try await MediaFixture { $0.media.writeMTU = 100 }
        defer { fixture.stop() }
        try await fixture.configure()
        // 4 bytes, 8 of scale factors, 1 of joint bits, 2 for each step of the bitpool: 37 is the last that fits into 87.
        #expect(try await fixture.source.acquire(first).bitpool == 37)
        await fixture.source.release(first)
        fixture.fake.media.writeMTU = 29
        let outcome = await MediaFixture.outcome(of: fixture.source, first)
        #expect(outcome.contains("packets of 29 bytes are too small"))
        try await fixture.becomes { $0.fake.mediaOwner(of: first) == nil }
    }

    @Test func `bluetoothd's errors are described with a remedy`() {
        let names: [(String, MediaError)] = [
            ("org.bluez.Error.NotAuthorized", .notAuthorized), ("org.bluez.Error.InProgress", .inProgress),
            ("org.bluez.Error.NotAvailable", .gone), ("org.bluez.Error.Failed", .refused),
            ("org.freedesktop.DBus.Error.UnknownObject", .gone), ("org.freedesktop.DBus.Error.NoReply", .timedOut),
            ("org.freedesktop.DBus.Error.ServiceUnknown", .serviceAbsent),
        ]
        for (name, expected) in names { #expect(MediaError(BusError(name: name, message: "")) == expected) }
        let denied = BusError(name: BusError.Name.accessDenied, message: "no")
        #expect(MediaError(denied) == .notPermitted(denied) && "\(MediaError(denied))".contains("group `bluetooth`"))
        let odd = BusError(name: "org.bluez.Error.Odd", message: "odd")
        #expect(MediaError(odd) == .failed(odd) && "\(MediaError(odd))".contains("odd"))
    }

    // MARK: Buttons

    @Test func `buttons arrive as events, and headsets are informed whether music plays`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        for button in MediaButton.allCases {
            #expect(fixture.fake.pressMedia(button.method, of: first))
            try await fixture.isNext(.buttonPressed(button))
        }
        func status(_ fixture: MediaFixture) -> Value? {
            fixture.fake.media.players.first?.properties["PlaybackStatus"]
        }
        #expect(status(fixture) == "Stopped")
        fixture.source.setPlaying(true)
        try await fixture.becomes { status($0) == "Playing" }
        // A bluetoothd that comes back receives the present state.
        try await fixture.fake.restart()
        try await fixture.isNext(.registered)
        try await fixture.becomes { status($0) == "Playing" }
        fixture.source.setPlaying(false)
        try await fixture.becomes { status($0) == "Stopped" }
        #expect(fixture.events.pending.isEmpty)
    }
}
