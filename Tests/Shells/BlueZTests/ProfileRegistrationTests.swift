import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

@testable import BlueZ

@Suite @ControlPlane
struct ProfileRegistrationTests {
    typealias State = ProfileRegistration.State

    struct Connection: Sendable {
        let address: BluetoothAddress
        let path: String
        let descriptor: PassedDescriptor
        let properties: [String: Value]
    }

    let first = BlueZFixture.first
    let states = EventQueue<State>()
    let connections = EventQueue<Connection>()
    let disconnections = EventQueue<BluetoothAddress>()

    func registration(
        _ fixture: BlueZFixture,
        _ configuration: ProfileRegistration.Configuration = .handsFreeAudioGateway(features: 0x2B)
    ) -> ProfileRegistration {
        let registration = ProfileRegistration(
            bus: fixture.bus, configuration: configuration, logger: fixture.log.logger)
        registration.onState = { [states] in states.push($0) }
        registration.onConnection = { [connections] in
            connections.push(Connection(address: $0, path: $1, descriptor: $2, properties: $3))
        }
        registration.onDisconnectionRequest = { [disconnections] in disconnections.push($0) }
        registration.start()
        return registration
    }

    func registered(_ fixture: BlueZFixture) async throws -> ProfileRegistration {
        let registration = registration(fixture)
        #expect(try await states.next() == .waitingForService)
        #expect(try await states.next() == .registered)
        return registration
    }

    func refusal() async throws -> ProfileRegistration.Refusal {
        let state = try await states.next()
        let refusal: ProfileRegistration.Refusal? = if case .refused(let refusal) = state { refusal } else { nil }
        return try #require(refusal, "\(state)")
    }

    @Test func `the Audio Gateway is registered with version, features and encryption`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        let profile = try #require(fixture.fake.profiles.first)
        #expect(profile.uuid == .handsFreeAudioGateway)
        #expect(profile.path == registration.configuration.path)
        #expect(
            profile.options == [
                "Name": "Hands-Free Audio Gateway", "Version": .uint16(0x0109), "Features": .uint16(0x2B),
                "AutoConnect": true, "RequireAuthentication": true, "RequireAuthorization": false,
            ])
        #expect(fixture.fake.profiles.count == 1)
    }

    @Test func `other roles are registered the same way`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        var configuration = ProfileRegistration.Configuration.headsetAudioGateway()
        configuration.role = .server
        configuration.channel = 12
        let registration = registration(fixture, configuration)
        #expect(try await states.next() == .waitingForService)
        #expect(try await states.next() == .registered)
        let profile = try #require(fixture.fake.profiles.first)
        #expect(profile.uuid == .headsetAudioGateway)
        #expect(profile.options["Role"] == "server")
        #expect(profile.options["Channel"] == .uint16(12))
        await registration.stop()
    }

    @Test func `it waits for bluetoothd and registers again after each restart`() async throws {
        let fixture = try await BlueZFixture(running: false)
        defer { fixture.stop() }
        let registration = registration(fixture)
        #expect(try await states.next() == .waitingForService)
        try await fixture.fake.start()
        #expect(try await states.next() == .registered)
        try await fixture.fake.restart()
        #expect(try await states.next() == .waitingForService)
        #expect(try await states.next() == .registered)
        #expect(fixture.fake.profiles.map(\.path) == [registration.configuration.path])
    }

    @Test func `a headset's connection is handed over with the properties of its service record`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        fixture.fake.addHeadset(first, name: "First")
        let headset = try await fixture.fake.connect(first, version: 0x0108, features: 0x3F)
        defer { close(headset) }
        let connection = try await connections.next()
        #expect(connection.address == first)
        #expect(connection.path == "/org/bluez/hci0/dev_00_1B_DC_08_00_11")
        #expect(connection.properties == ["Version": .uint16(0x0108), "Features": .uint16(0x3F)])
        let gateway = connection.descriptor.take()
        defer { close(gateway) }
        #expect(write(headset, "AT\r", 3) == 3)
        var buffer = [UInt8](repeating: 0, count: 16)
        #expect(read(gateway, &buffer, 16) == 3)
        #expect(registration.state == .registered)

        await fixture.fake.requestDisconnection(first)
        #expect(try await disconnections.next() == first)
        #expect(read(gateway, &buffer, 16) == 0)
    }

    @Test func `a connection whose descriptor is not kept is closed`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        registration.onConnection = { _, _, _, _ in }
        let headset = try await fixture.fake.connect(first)
        defer { close(headset) }
        #expect(fcntl(headset, F_SETFL, 0) == 0)
        var byte: UInt8 = 0
        #expect(read(headset, &byte, 1) == 0)

        fixture.fake.disconnect(first)
        registration.onConnection = nil
        await #expect(throws: BusError(name: "org.bluez.Error.Rejected", message: "no handler for connections")) {
            try await fixture.fake.connect(first)
        }
    }

    @Test func `a connection without a usable descriptor is refused, and not handed over`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        let listening = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // Without a name it gets one of its own.
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listening, $0, socklen_t(MemoryLayout<sa_family_t>.size)) == 0 && listen(listening, 1) == 0
            }
        }
        #expect(isListening)
        let datagrams = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        for descriptor in [open("/dev/null", O_RDWR), datagrams, listening] {
            let file = PassedDescriptor(taking: descriptor)
            let error = await #expect(throws: BusError.self) { try await fixture.fake.handOver(file, of: first) }
            #expect(error?.message.contains("without a usable descriptor") == true)
        }
        let headset = try await fixture.fake.connect(first)
        defer { close(headset) }
        // The first one that is handed over.
        let connection = try await connections.next()
        #expect(connection.address == first)
        #expect(connection.descriptor.descriptor >= 0)
        _ = registration
    }

    @Test func `a connection that is refused is closed, with the reason to bluetoothd and in the log`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        registration.onConnection = { _, _, _, _ throws(ConnectionRefusal) in throw ConnectionRefusal("it is blue") }
        await #expect(throws: BusError(name: "org.bluez.Error.Rejected", message: "it is blue")) {
            try await fixture.fake.connect(first)
        }
        #expect(!fixture.fake.isLinked(first))
        #expect(fixture.log.all.contains { $0.hasPrefix("notice: \(first)") && $0.hasSuffix("refused: it is blue") })
        #expect(registration.state == .registered)
    }

    @Test func `the Headset Profile does not connect automatically with the device`() {
        #expect(!ProfileRegistration.Configuration.headsetAudioGateway().connectsAutomatically)
        #expect(ProfileRegistration.Configuration.handsFreeAudioGateway(features: 0).connectsAutomatically)
    }

    @Test func `a headset connects the same way on request`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        let headsets = EventQueue<Int32>()
        fixture.fake.onConnected = { headsets.push($1) }
        let path = "/org/bluez/hci0/dev_00_1B_DC_08_00_11"
        _ = try await fixture.bus.call(
            "org.bluez", path, "org.bluez.Device1", "ConnectProfile", [.string(ServiceUUID.handsFree.text)])
        #expect(try await connections.next().address == first)
        close(try await headsets.next())
        #expect(registration.state == .registered)
    }

    @Test func `a headset that dies without a word is silent first and gone later`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        let headset = try await fixture.fake.connect(first)
        defer { close(headset) }
        let gateway = try await connections.next().descriptor.take()
        defer { close(gateway) }
        fixture.fake.vanish(first, noticedAfter: .milliseconds(30))
        var byte: UInt8 = 0
        #expect(read(gateway, &byte, 1) == -1)
        #expect(errno == EAGAIN)
        let ended = EventQueue<Bool>()
        let source = try ControlLoop.shared.add(gateway, .readable) { ended.push($0.contains(.hangup)) }
        #expect(try await ended.next())
        source.cancel()
        #expect(read(gateway, &byte, 1) == 0)
        #expect(!fixture.fake.isLinked(first))
        #expect(disconnections.pending.isEmpty, "no request on a lost link")
        #expect(registration.state == .registered)
    }

    @Test func `only bluetoothd may call the profile`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        let stranger = try BusConnection(fixture.privateBus.address)
        defer { stranger.close() }
        let name = try #require(fixture.bus.uniqueName)
        for (member, arguments) in [
            ("Release", []), ("RequestDisconnection", [.objectPath("/org/bluez/hci0/dev_00_1B_DC_08_00_11")]),
        ] as [(String, [Value])] {
            let error = await #expect(throws: BusError.self) {
                try await stranger.call(name, registration.configuration.path, "org.bluez.Profile1", member, arguments)
            }
            #expect(error?.hasName(BusError.Name.accessDenied) == true)
        }
        #expect(registration.state == .registered)
        #expect(disconnections.pending.isEmpty)
    }

    /// BlueALSA writes UUIDs in capitals, and bluetoothd 5.66 then registers both programs.
    @Test(arguments: [ServiceUUID.handsFreeAudioGateway.text, "0000111F-0000-1000-8000-00805F9B34FB"])
    func `the owner of a known bus name is named, and the profile is registered a second after it leaves`(
        spelling: String
    ) async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let rival = try BusConnection(fixture.privateBus.address)
        try await rival.requestName("org.bluealsa")
        _ = try await rival.call(
            "org.bluez", "/org/bluez", "org.bluez.ProfileManager1", "RegisterProfile",
            [.objectPath("/rival"), .string(spelling), .vardict([:])])
        let registration = registration(fixture)
        #expect(try await states.next() == .waitingForService)
        let refusal = try await refusal()
        let unique = try #require(rival.uniqueName)
        guard case .alreadyRegistered(let peers) = refusal.cause else {
            Issue.record("\(refusal)")
            return
        }
        #expect(peers.map(\.program) == [.bluealsa])
        #expect(peers.map(\.uniqueName) == [unique])
        #expect(peers.map(\.processID) == [UInt32(getpid())])
        let text = refusal.description
        #expect(text.contains("0000111f-0000-1000-8000-00805f9b34fb"))
        #expect(text.contains("(\(unique), process \(getpid())"))
        #expect(text.contains("start it with `-p a2dp-source` alone, without `hfp-ag` and `hsp-ag`, or stop it"))
        #expect(fixture.log.all.contains("warning: \(text)"))
        let left = ContinuousClock.now
        rival.close()
        #expect(try await states.next() == .registered)
        #expect(left.duration(to: .now) >= .seconds(1))
        #expect(fixture.fake.profiles.map(\.path) == [registration.configuration.path])
    }

    @Test func `a rival is also found by the name of its process`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let silent = try BusConnection(fixture.privateBus.address)
        defer { silent.close() }
        let rival = try RivalProcess(named: "pulseaudio", on: fixture.privateBus.address, waitingFor: silent)
        try await rival.joined.value()
        fixture.fake.occupy(.handsFreeAudioGateway)
        let registration = registration(fixture)
        #expect(try await states.next() == .waitingForService)
        let refusal = try await refusal()
        #expect(refusal.description.contains("probably pulseaudio (:"))
        #expect(refusal.description.contains("process \(rival.processID)"))
        #expect(refusal.description.contains("load module-bluetooth-discover with `headset=ofono`"))
        fixture.fake.vacate(.handsFreeAudioGateway)
        rival.end()
        #expect(try await states.next() == .registered)
        await registration.stop()
    }

    @Test func `of PipeWire's two processes the session manager is named, with file and line`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let silent = try BusConnection(fixture.privateBus.address)
        defer { silent.close() }
        let server = try RivalProcess(named: "pipewire", on: fixture.privateBus.address, waitingFor: silent)
        try await server.joined.value()
        let other = try BusConnection(fixture.privateBus.address)
        defer { other.close() }
        let manager = try RivalProcess(named: "wireplumber", on: fixture.privateBus.address, waitingFor: other)
        try await manager.joined.value()
        fixture.fake.occupy(.handsFreeAudioGateway)
        let registration = registration(fixture)
        #expect(try await states.next() == .waitingForService)
        let text = try await refusal().description
        #expect(text.contains("probably wireplumber (:") && !text.contains("pipewire (:"))
        #expect(text.contains(WirePlumberLine.handsFreeOff.version05) && text.contains(WirePlumberLine.file05))
        manager.end()
        server.end()
        await registration.stop()
    }

    @Test func `an unknown rival is reported as unknown, and registration is retried at intervals`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        fixture.fake.occupy(.handsFreeAudioGateway)
        var configuration = ProfileRegistration.Configuration.handsFreeAudioGateway(features: 0)
        configuration.retryInterval = .milliseconds(20)
        let registration = registration(fixture, configuration)
        #expect(try await states.next() == .waitingForService)
        let refusal = try await refusal()
        #expect(refusal.cause == .alreadyRegistered([]))
        #expect(refusal.description.contains("none that is known to do so is on this bus"))
        fixture.fake.vacate(.handsFreeAudioGateway)
        #expect(try await states.next() == .registered)
        #expect(fixture.log.all.filter { $0.hasPrefix("warning") }.count == 1, "one refusal is one line")
        await registration.stop()
    }

    @Test func `a profile that bluetoothd releases is registered again`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        fixture.fake.stop(releasing: true)
        #expect(try await states.next() == .waitingForService)
        try await fixture.fake.start()
        #expect(try await states.next() == .registered)
        #expect(registration.state == .registered)
    }

    @Test func `stopping withdraws the profile, and it can be started again`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registration = try await registered(fixture)
        await registration.stop()
        #expect(try await states.next() == .stopped)
        #expect(fixture.fake.profiles.isEmpty)
        await registration.stop()
        registration.start()
        #expect(try await states.next() == .waitingForService)
        #expect(try await states.next() == .registered)
        #expect(fixture.fake.profiles.count == 1)
    }

    @Test(arguments: [
        ("0::/system.slice/bluealsa.service", "bluealsa.service"), ("0::/", ""), ("", ""),
        ("1:name=systemd:/user.slice/session-1.scope\n0::/user.slice/user-0.slice/session-1.scope", "session-1.scope"),
        ("0::/docker/abcdef", ""),
    ])
    func `the unit of a process is the end of its control group`(text: String, unit: String) {
        #expect(BusPeer.unit(ofCgroup: text) == unit)
    }
}
