import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

@testable import BlueZ

@Suite @ControlPlane
struct MediaSourceTests {
    let first = BlueZFixture.first
    let second = BlueZFixture.second

    /// Answer to bluetoothd; nil: the configuration was accepted.
    private func answer(_ configure: @ControlPlane () async throws(BusError) -> String) async -> BusError? {
        do throws(BusError) {
            _ = try await configure()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Registration

    @Test func `an SBC source and a player are registered on the adapter`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        let endpoint = try #require(fixture.fake.media.endpoints.first)
        #expect(fixture.fake.media.endpoints.count == 1)
        #expect(endpoint.uuid == ServiceUUID(short: 0x110A) && endpoint.codec == 0)
        #expect(endpoint.capabilities == [0xFF, 0xFF, 2, 53] && endpoint.reportsDelay)
        #expect(endpoint.path == "/org/btcall/media/hci0/endpoint" && endpoint.adapter == "/org/bluez/hci0")
        let player = try #require(fixture.fake.media.players.first)
        #expect(player.path == "/org/btcall/media/hci0/player")
        #expect(
            player.properties == [
                "Identity": "btcall", "PlaybackStatus": "Stopped", "CanControl": true, "CanPlay": true,
                "CanPause": true, "CanGoNext": true, "CanGoPrevious": true,
            ])
        #expect(fixture.log.all.filter { $0.hasPrefix("warning") }.isEmpty)
    }

    @Test func `everything is registered again when bluetoothd comes back, and streams are cleared`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        // One, or two if the spare one for a further headset is registered already.
        var released = 0
        for releasing in [false, true, false] {
            try await fixture.configure()
            if releasing { released = fixture.fake.media.endpoints.count }
            fixture.fake.stop(releasing: releasing)
            try await fixture.isNext(.cleared(first))
            #expect(fixture.source.transport(of: first) == nil)
            // The streams may go before the name does.
            try await fixture.becomes { !$0.registry.isServicePresent }
            #expect(await MediaFixture.outcome(of: fixture.source, first) == MediaError.serviceAbsent.description)
            try await fixture.fake.start()
            try await fixture.isNext(.registered)
            try await fixture.becomes { $0.fake.media.players.count == 1 && $0.fake.media.endpoints.count == 1 }
        }
        #expect(fixture.log.containing("released the endpoint").count <= released)
    }

    @Test func `stopping to serve withdraws registrations, and the state wanted afterwards is followed`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        try await fixture.becomes { $0.registeredPlayers == 1 }
        fixture.source.isServing = false
        try await fixture.isNext(.cleared(first))
        try await fixture.becomes { $0.fake.media.endpoints.isEmpty && $0.fake.media.players.isEmpty }
        fixture.source.isServing = true
        try await fixture.isNext(.registered)
        try await fixture.configure()
        // Changed again while bluetoothd is being notified.
        fixture.source.isServing = false
        try await fixture.isNext(.cleared(first))
        fixture.source.isServing = true
        fixture.source.isServing = false
        fixture.source.isServing = true
        try await fixture.isNext(.registered)
        try await fixture.becomes { $0.registeredPlayers == 3 && $0.fake.media.players.count == 1 }
        #expect(fixture.fake.media.endpoints.count == 1)
        try await fixture.configure()
    }

    @Test func `every adapter is served, including those that come later or come back`() async throws {
        let fixture = try await MediaFixture { $0.addAdapter("hci1", address: BluetoothAddress(value: 2)) }
        defer { fixture.stop() }
        try await fixture.isNext(.registered)
        func adapters(_ fixture: MediaFixture) -> [String] { fixture.fake.media.endpoints.map(\.adapter).sorted() }
        #expect(adapters(fixture) == ["/org/bluez/hci0", "/org/bluez/hci1"])
        let third = fixture.fake.addAdapter("hci2", address: BluetoothAddress(value: 3))
        try await fixture.isNext(.registered)
        #expect(adapters(fixture).contains(third))
        fixture.fake.remove(path: third)
        try await fixture.becomes { !adapters($0).contains(third) }
        fixture.fake.addAdapter("hci2", address: BluetoothAddress(value: 3))
        try await fixture.isNext(.registered)
        try await fixture.becomes { $0.fake.media.players.count == 3 }
    }

    @Test func `a headset on another adapter has its stream with that adapter's endpoint`() async throws {
        let third = BluetoothAddress(value: 0x001B_DC08_0013)
        let fixture = try await MediaFixture {
            let other = $0.addAdapter("hci1", address: BluetoothAddress(value: 2))
            $0.addHeadset(third, name: "Third", adapter: other)
        }
        defer { fixture.stop() }
        try await fixture.isNext(.registered)
        try await fixture.configure(first)
        try await fixture.configure(third)
        #expect(fixture.source.configured == [first, third])
        let path = try #require(fixture.source.transport(of: third)?.path)
        #expect(path.hasPrefix("/org/bluez/hci1/dev_00_1B_DC_08_00_13/"))
        fixture.fake.remove(path: "/org/bluez/hci1")
        try await fixture.isNext(.cleared(third))
        #expect(fixture.source.configured == [first])
    }

    @Test func `a bluetoothd that cannot do delay reporting gets the endpoint without it`() async throws {
        let fixture = try await MediaFixture { $0.media.refusesDelayReporting = true }
        defer { fixture.stop() }
        #expect(fixture.fake.media.endpoints.map(\.reportsDelay) == [false])
        #expect(fixture.log.all.filter { $0.hasPrefix("warning") }.isEmpty)
    }

    @Test func `a bluetoothd without its plugins is reported with the remedy, and retried after a restart`()
        async throws
    {
        let fixture = try await MediaFixture(registered: false) { $0.mediaSupport = .none }
        defer { fixture.stop() }
        for support in [FakeBlueZ.MediaSupport.none, .withoutEndpoints] {
            let refusal = try await fixture.refusal()
            #expect(refusal.part == .endpoint && refusal.cause == .notOffered && refusal.controller == "hci0")
            #expect("\(refusal)".contains("--noplugin=a2dp"), "\(support)")
            fixture.fake.mediaSupport = support == .none ? .withoutEndpoints : .withoutPlayers
            if support == .withoutEndpoints { try await fixture.fake.restart() }
        }
        try await fixture.isNext(.registered)
        let refusal = try await fixture.refusal()
        #expect(refusal.part == .player && refusal.cause == .notOffered)
        #expect("\(refusal)".contains("--noplugin=avrcp"))
        try await fixture.configure()
        fixture.fake.mediaSupport = .all
        try await fixture.fake.restart()
        try await fixture.isNext(.cleared(first))
        try await fixture.isNext(.registered)
        try await fixture.becomes { $0.fake.media.players.count == 1 }
    }

    @Test(arguments: [
        ("org.freedesktop.DBus.Error.AccessDenied", "group `bluetooth`"),
        ("org.bluez.Error.NotPermitted", "group `bluetooth`"), ("org.bluez.Error.Failed", "journalctl"),
        ("org.freedesktop.DBus.Error.NoReply", "did not answer"),
    ])
    func `a refused registration is reported with its reason and retried`(name: String, words: String) async throws {
        let fixture = try await MediaFixture(registered: false, retryInterval: .milliseconds(20)) {
            $0.media.endpointError = BusError(name: name, message: "no")
        }
        defer { fixture.stop() }
        let refusal = try await fixture.refusal()
        #expect("\(refusal)".contains(words))
        #expect(fixture.log.containing(words).count >= 1)
        fixture.fake.media.endpointError = nil
        fixture.fake.media.playerError = BusError(name: name, message: "no")
        while true {
            let event = try await fixture.events.next()
            if event == .registered { break }
            #expect(event == .refused(refusal))
        }
        #expect(try await fixture.refusal().part == .player)
        fixture.fake.media.playerError = nil
        try await fixture.becomes { $0.fake.media.players.count == 1 }
    }

    @Test func `a registration that exists already counts as ours`() async throws {
        let fixture = try await MediaFixture(registered: false) {
            $0.media.endpointError = BusError(name: "org.bluez.Error.AlreadyExists", message: "Already Exists")
            $0.media.playerError = BusError(name: "org.bluez.Error.AlreadyExists", message: "Already Exists")
        }
        defer { fixture.stop() }
        try await fixture.isNext(.registered)
        #expect(fixture.log.all.filter { $0.hasPrefix("warning") }.isEmpty)
    }

    @Test func `stopping releases and withdraws everything, and starting registers again`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        _ = try await fixture.source.acquire(first)
        await fixture.source.stop()
        #expect(fixture.fake.media.endpoints.isEmpty && fixture.fake.media.players.isEmpty)
        #expect(fixture.fake.media.requests == ["Acquire", "Release"])
        #expect(fixture.source.configured.isEmpty)
        while fixture.events.pending.contains(where: { $0 != .cleared(first) }) { _ = try await fixture.events.next() }
        try await fixture.isNext(.cleared(first))
        fixture.source.start()
        try await fixture.isNext(.registered)
        try await fixture.configure()
    }

    // MARK: Configuration

    @Test func `the best configuration of both sides is chosen, with the bitpool of the quality`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        try await fixture.configure()
        let transport = try #require(fixture.source.transport(of: first))
        #expect(transport.configuration.bytes == [0x11, 0x15, 2, 53])
        #expect(transport.bitpool == 51 && transport.state == .idle)
        #expect(transport.volume == nil && transport.delay == nil)
        // 44.1 kHz only.
        try await fixture.fake.configureMedia(of: second, capabilities: [0x21, 0x15, 2, 53])
        try await fixture.isNext(.configured(second))
        #expect(fixture.source.transport(of: second)?.bitpool == 53)
        #expect(fixture.source.configured == [first, second])
    }

    @Test func `with quality xq dual channel is used if the headset supports it`() async throws {
        let fixture = try await MediaFixture(quality: .xq)
        defer { fixture.stop() }
        try await fixture.configure()
        let transport = try #require(fixture.source.transport(of: first))
        #expect(transport.configuration.mode == .dual && transport.bitpool == 35)
        try await fixture.fake.configureMedia(of: second, capabilities: [0x2F, 0x15, 2, 53])
        try await fixture.isNext(.configured(second))
        #expect(fixture.source.transport(of: second)?.configuration.mode == .dual)
        #expect(fixture.source.transport(of: second)?.bitpool == 38)
        fixture.fake.dropMedia(of: second)
        try await fixture.isNext(.cleared(second))
        // A headset with too low a bitpool, and one without the mode, get joint stereo.
        for capabilities: [UInt8] in [[0xFF, 0xFF, 2, 34], [0x3B, 0xFF, 2, 53]] {
            try await fixture.fake.configureMedia(of: second, capabilities: capabilities)
            try await fixture.isNext(.configured(second))
            let other = try #require(fixture.source.transport(of: second))
            #expect(other.configuration.mode == .joint && other.bitpool == Int(capabilities[3]))
            fixture.fake.dropMedia(of: second)
            try await fixture.isNext(.cleared(second))
        }
    }

    @Test func `a headset may choose the configuration`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        // 44.1 kHz, mono, 8 blocks, 4 subbands, SNR.
        try await fixture.fake.configureMedia(of: first, configuration: [0x28, 0x4A, 10, 40])
        try await fixture.isNext(.configured(first))
        let transport = try #require(fixture.source.transport(of: first))
        #expect(transport.configuration.bytes == [0x28, 0x4A, 10, 40])
        // 31 of the table is for 8 subbands: half of it has the same rate.
        #expect(transport.bitpool == 15)
    }

    @Test func `each headset has an endpoint of its own, because bluetoothd sets up one stream with each`() async throws
    {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        #expect(fixture.fake.media.endpoints.count == 1)
        try await fixture.fake.configureMedia(of: first)
        try await fixture.isNext(.configured(first))
        try await fixture.becomes { $0.fake.media.endpoints.count == 2 }
        try await fixture.fake.configureMedia(of: second)
        try await fixture.isNext(.configured(second))
        #expect(fixture.source.configured == [first, second].sorted())
        try await fixture.becomes { $0.fake.media.endpoints.count == 3 }
        fixture.fake.dropMedia(of: first)
        try await fixture.isNext(.cleared(first))
        try await fixture.fake.configureMedia(of: first)
        try await fixture.isNext(.configured(first))
        #expect(fixture.fake.media.endpoints.count == 3)
        await fixture.source.stop()
        #expect(fixture.fake.media.endpoints.isEmpty)
    }

    @Test func `every offer of a headset is answered, and an invalid one is reported with the headset`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        var generator = SeededGenerator(seed: 7)
        var offers = (0...255).map { count in (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        offers += (0..<60).map { _ in (0..<4).map { _ in UInt8.random(in: 0...255, using: &generator) } }
        var outcomes: Set<Bool> = []
        for bytes in offers {
            let lines = fixture.log.containing("warning", "First (00:1B:DC:08:00:11)").count
            let expected = Result { () throws(SBCError) in try SBCQuality.standard.select(bytes) }
            let error = await answer { () async throws(BusError) in
                try await fixture.fake.configureMedia(of: first, capabilities: bytes)
            }
            outcomes.insert(error == nil)
            switch expected {
            case .success(let configuration):
                #expect(error == nil, "\(bytes)")
                #expect(fixture.source.transport(of: first)?.configuration == configuration)
                try await fixture.isNext(.configured(first))
                fixture.fake.dropMedia(of: first)
                try await fixture.isNext(.cleared(first))
            case .failure(let reason):
                #expect(error == BusError(name: "org.bluez.Error.InvalidArguments", message: reason.description))
                #expect(fixture.log.containing("warning", "First (00:1B:DC:08:00:11)").count == lines + 1)
            }
        }
        #expect(outcomes == [true, false] && fixture.events.pending.isEmpty)
    }

    @Test func `without known endpoints the report names the connected headsets`() async throws {
        let fixture = try await MediaFixture { $0.media.showsRemoteEndpoints = false }
        defer { fixture.stop() }
        fixture.fake.setConnected(true, second)
        try await fixture.becomes { $0.registry.device(second)?.connected == true }
        await #expect(throws: BusError.self) {
            try await fixture.fake.configureMedia(of: second, capabilities: [0xFF, 0xFF, 60, 20])
        }
        #expect(
            fixture.log.containing("Second (00:1B:DC:08:00:12) offers SBC", "upside down", "ffff3c14").count == 1)
    }

    @Test(arguments: [[], [0xFF], [0x11, 0x15, 2, 53, 0], [0x31, 0x15, 2, 53], [0x11, 0x15, 53, 2], [0, 0, 0, 0]])
    func `an invalid configuration is refused, and its stream is not used`(bytes: [UInt8]) async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        do throws(BusError) {
            try await fixture.fake.configureMedia(of: first, configuration: bytes)
            Issue.record("it was taken")
        } catch {
            #expect(error.name == "org.bluez.Error.InvalidArguments")
        }
        #expect(fixture.log.containing("warning", "First (00:1B:DC:08:00:11)", "unusable configuration").count == 1)
        #expect(fixture.source.transport(of: first) == nil)
        // Nor is it another program's.
        try await fixture.configure()
        #expect(!fixture.source.isForeignPlaying(first))
    }

    @Test func `random configurations are accepted or refused`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        var generator = SeededGenerator(seed: 8)
        let one = { (count: Int) in UInt8(1) << UInt8.random(in: 0..<UInt8(count), using: &generator) }
        for index in 0..<200 {
            let bytes: [UInt8] =
                index % 2 == 0
                ? (0..<4).map { _ in UInt8.random(in: 0...255, using: &generator) }
                : [
                    one(4) << 4 | one(4), one(4) << 4 | one(2) << 2 | one(2),
                    .random(in: 0...255, using: &generator), .random(in: 0...255, using: &generator),
                ]
            let expected = Result { () throws(SBCError) in try SBCConfiguration(bytes) }
            let error = await answer { () async throws(BusError) in
                try await fixture.fake.configureMedia(of: first, configuration: bytes)
            }
            switch expected {
            case .success(let configuration):
                let transport = try #require(fixture.source.transport(of: first), "\(bytes): \(error as Any)")
                #expect(transport.configuration == configuration)
                #expect((configuration.minimumBitpool...configuration.maximumBitpool).contains(transport.bitpool))
                try await fixture.isNext(.configured(first))
                fixture.fake.dropMedia(of: first)
                try await fixture.isNext(.cleared(first))
            case .failure(let reason): #expect(error?.message == reason.description)
            }
        }
    }

    @Test func `only bluetoothd may configure and press`() async throws {
        let fixture = try await MediaFixture()
        defer { fixture.stop() }
        let stranger = try BusConnection(fixture.base.privateBus.address)
        defer { stranger.close() }
        let owner = try #require(fixture.fake.media.endpoints.first?.owner)
        let endpoint = "/org/btcall/media/hci0/endpoint"
        let path = Value.objectPath("/org/bluez/hci0/dev_00_1B_DC_08_00_11/fd0")
        let calls: [(String, String, String, [Value])] = [
            (endpoint, BlueZNames.mediaEndpoint, "SelectConfiguration", [.bytes(MediaFixture.everything)]),
            (endpoint, BlueZNames.mediaEndpoint, "SetConfiguration", [path, .vardict([:])]),
            (endpoint, BlueZNames.mediaEndpoint, "ClearConfiguration", [path]),
            (endpoint, BlueZNames.mediaEndpoint, "Release", []),
            ("/org/btcall/media/hci0/player", BlueZNames.player, "Play", []),
            ("/org/btcall/media/hci0/player", BlueZNames.player, "Release", []),
        ]
        for (path, interface, member, arguments) in calls {
            do throws(BusError) {
                _ = try await stranger.call(owner, path, interface, member, arguments)
                Issue.record("\(member) was taken")
            } catch {
                #expect(error.hasName(BusError.Name.accessDenied), "\(member): \(error)")
            }
        }
        #expect(fixture.events.pending.isEmpty)
    }
}
