import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import TestSupport
import Testing

@testable import BlueZ

@Suite @ControlPlane
struct DeviceRegistryTests {
    typealias Event = DeviceRegistry.Event

    let first = BlueZFixture.first
    let second = BlueZFixture.second
    let events = EventQueue<Event>()

    func registry(_ fixture: BlueZFixture) -> DeviceRegistry {
        let registry = DeviceRegistry(bus: fixture.bus, logger: fixture.log.logger)
        registry.events.subscribe { [events] in events.push($0) }
        return registry
    }

    /// Takes events up to a matching one.
    func event(where fits: (Event) -> Bool, at location: SourceLocation = #_sourceLocation) async throws -> Event {
        while true {
            let event = try await events.next(at: location)
            if fits(event) { return event }
        }
    }

    /// A registry that has read the tree and sent all events.
    func settled(_ fixture: BlueZFixture) async throws -> DeviceRegistry {
        let registry = registry(fixture)
        _ = try await event { $0 == .serviceAppeared }
        for _ in registry.adapters.indices { _ = try await events.next() }
        for _ in registry.devices.indices { _ = try await events.next() }
        return registry
    }

    @Test func `adapters and devices are listed in the order of addresses when the service appears`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = registry(fixture)
        #expect(!registry.isServicePresent)
        #expect(try await events.next() == .serviceAppeared)
        #expect(registry.isServicePresent)
        #expect(registry.adapters.map(\.controller) == ["hci0"])
        #expect(registry.adapters.map(\.powered) == [true])
        #expect(registry.devices.map(\.address) == [first, second])
        let device = try #require(registry.device(first))
        #expect(device.name == "First")
        #expect(device.path == "/org/bluez/hci0/dev_00_1B_DC_08_00_11")
        #expect(device.adapterPath == "/org/bluez/hci0")
        #expect(device.paired && device.trusted && device.servicesResolved && !device.connected && !device.blocked)
        #expect(device.isHandsFree && !device.isHeadset)
        #expect(device.classOfDevice == ClassOfDevice(bits: 0x24_0404))
        #expect(device.icon == "audio-headset")
        #expect(device.battery == nil)
        #expect(try await events.next() == .adapterChanged(registry.adapters[0]))
        #expect(try await events.next() == .deviceChanged(registry.devices[0]))
        #expect(try await events.next() == .deviceChanged(registry.devices[1]))
        #expect(fixture.log.all.filter { $0.hasPrefix("warning") }.isEmpty)
    }

    @Test func `connecting, battery and disconnecting are followed`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        fixture.fake.setConnected(true, first)
        #expect(try await events.next() == .deviceChanged(try #require(registry.device(first))))
        #expect(registry.device(first)?.connected == true)
        fixture.fake.setBattery(60, first)
        _ = try await events.next()
        #expect(registry.device(first)?.battery == 60)
        fixture.fake.setBattery(50, first)
        _ = try await events.next()
        #expect(registry.device(first)?.battery == 50)
        fixture.fake.setConnected(false, first)
        #expect(try await events.next() == .deviceChanged(try #require(registry.device(first))))
        #expect(try await events.next() == .deviceDisconnected(first, reason: nil))
    }

    @Test func `the reason of a disconnection follows if BlueZ gives one`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        let path = try #require(registry.device(first)?.path)
        for (name, reason) in [("Timeout", DisconnectionReason.timeout), ("Remote", .remote), ("Odd", .unknown)] {
            fixture.fake.emit(
                path: path, interface: "org.bluez.Device1", member: "Disconnected",
                [.string("org.bluez.Reason.\(name)"), "text"])
            #expect(try await events.next() == .deviceDisconnected(first, reason: reason))
        }
    }

    @Test func `devices and adapters that appear and go are followed`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        let third = BluetoothAddress(value: 1)
        fixture.fake.addHeadset(third, name: "Third", properties: ["Connected": true])
        let change = try await event { if case .deviceChanged = $0 { true } else { false } }
        #expect(change == .deviceChanged(try #require(registry.device(third))))
        #expect(registry.devices.map(\.address) == [third, first, second])
        fixture.fake.remove(third)
        #expect(try await events.next() == .deviceDisconnected(third, reason: nil))
        #expect(try await events.next() == .deviceRemoved(third))
        fixture.fake.remove(path: "/org/bluez/hci0")
        var seen: [Event] = []
        for _ in 0..<3 { seen.append(try await events.next()) }
        #expect(seen.contains(.adapterRemoved(path: "/org/bluez/hci0")))
        #expect(seen.contains(.deviceRemoved(first)) && seen.contains(.deviceRemoved(second)))
        #expect(registry.adapters.isEmpty && registry.devices.isEmpty)
    }

    @Test func `a headset that two adapters know is one address and leaves with the second`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        let other = fixture.fake.addAdapter("hci1", address: BluetoothAddress(value: 2))
        let twin = fixture.fake.addHeadset(first, name: "Twin", adapter: other, properties: ["Connected": true])
        _ = try await event { if case .deviceChanged = $0 { true } else { false } }
        #expect(registry.adapters.map(\.controller) == ["hci1", "hci0"])
        #expect(registry.devices.map(\.address) == [first, first, second])
        #expect(registry.device(first)?.path == twin, "the connected one is meant")
        fixture.fake.remove(path: twin)
        #expect(try await events.next() == .deviceDisconnected(first, reason: nil))
        fixture.fake.remove(path: "/org/bluez/hci0/dev_00_1B_DC_08_00_11")
        #expect(try await events.next() == .deviceRemoved(first))
    }

    @Test func `an adapter that is switched off is reported`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        fixture.fake.setPowered(false)
        #expect(try await events.next() == .adapterChanged(registry.adapters[0]))
        #expect(!registry.adapters[0].powered)
    }

    @Test func `the mirror is empty without bluetoothd and full again when it is back`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        fixture.fake.setConnected(true, first)
        _ = try await events.next()
        fixture.fake.stop()
        #expect(try await events.next() == .serviceVanished)
        #expect(!registry.isServicePresent && registry.devices.isEmpty && registry.adapters.isEmpty)
        fixture.fake.addHeadset(BluetoothAddress(value: 3), name: "New")
        try await fixture.fake.start()
        #expect(try await events.next() == .serviceAppeared, "and no removals before")
        #expect(registry.devices.count == 3)
        #expect(registry.device(first)?.connected == true)
    }

    @Test func `bluetoothd may come later`() async throws {
        let fixture = try await BlueZFixture(running: false)
        defer { fixture.stop() }
        let registry = registry(fixture)
        fixture.fake.addAdapter(address: BlueZFixture.adapter)
        // The absence is reported after the bus has answered, and once.
        #expect(try await events.next() == .serviceMissing)
        try await fixture.fake.start()
        #expect(try await events.next() == .serviceAppeared)
        #expect(registry.adapters.count == 1)
    }

    @Test func `malformed properties are left out with a line in the log`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        fixture.fake.addHeadset(
            BluetoothAddress(value: 4), name: "Odd",
            properties: ["Connected": "yes", "UUIDs": .uint32(7), "Class": .string("0x240404"), "Paired": .byte(1)])
        let nameless = fixture.fake.addHeadset(
            BluetoothAddress(value: 5), name: "Nameless", properties: ["Address": "not an address"])
        let registry = try await settled(fixture)
        let device = try #require(registry.device(BluetoothAddress(value: 4)))
        #expect(device.name == "Odd")
        #expect(!device.connected && !device.paired && device.uuids.isEmpty)
        #expect(registry.devices.count == 3)
        let lines = fixture.log.all.filter { $0.hasPrefix("warning") }
        #expect(lines.count == 4)
        let path = device.path
        #expect(lines.contains { $0.contains("org.bluez.Device1.Connected of \(path): type s, expected b") })

        fixture.fake.set("Address", .string(BluetoothAddress(value: 5).description), at: nameless)
        #expect(try await events.next() == .deviceChanged(try #require(registry.device(BluetoothAddress(value: 5)))))
    }

    @Test func `malformed signals change nothing`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        let before = registry.devices
        let path = before[0].path
        let properties = "org.freedesktop.DBus.Properties"
        let manager = "org.freedesktop.DBus.ObjectManager"
        for (interface, member, arguments) in [
            (properties, "PropertiesChanged", []),
            (properties, "PropertiesChanged", ["org.bluez.Device1", "Connected", "x"]),
            (properties, "PropertiesChanged", ["org.bluez.Device1", .uint32(1), .strings([])]),
            (properties, "PropertiesChanged", ["org.bluez.Device1", .vardict(["Connected": "x"]), .strings([])]),
            (manager, "InterfacesAdded", [.objectPath(path)]),
            (manager, "InterfacesAdded", [.objectPath(path), "x"]),
            (manager, "InterfacesRemoved", [.objectPath(path), .uint32(1)]),
            (manager, "Unknown", []),
            ("org.bluez.Device1", "Disconnected", [.uint32(1)]),
        ] as [(String, String, [Value])] {
            fixture.fake.emit(path: path, interface: interface, member: member, arguments)
        }
        fixture.fake.setConnected(true, second)
        _ = try await events.next()
        #expect(registry.devices.count == 2)
        #expect(registry.devices[0] == before[0])
        #expect(registry.devices[1].connected)
    }

    @Test func `signals of other programs are ignored`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        let stranger = try BusConnection(fixture.privateBus.address)
        defer { stranger.close() }
        stranger.emit(
            path: registry.devices[0].path, interface: "org.freedesktop.DBus.Properties", member: "PropertiesChanged",
            ["org.bluez.Device1", .vardict(["Connected": true]), .strings([])])
        stranger.flush()
        fixture.fake.setConnected(true, second)
        #expect(try await events.next() == .deviceChanged(registry.devices[1]))
        #expect(!registry.devices[0].connected)
    }

    @Test func `a profile is connected and a device disconnected on request`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        _ = try await fixture.bus.call(
            "org.bluez", "/org/bluez", "org.bluez.ProfileManager1", "RegisterProfile",
            [.objectPath("/test"), .string(ServiceUUID.handsFreeAudioGateway.text), .vardict([:])])
        await #expect(throws: DeviceCallError.refused) { try await registry.connectProfile(.handsFree, of: first) }
        #expect(fixture.fake.connectRequests == [.handsFree])
        await #expect(throws: DeviceCallError.alreadyDone) { try await registry.disconnect(first) }
        fixture.fake.setConnected(true, first)
        _ = try await event { if case .deviceChanged = $0 { true } else { false } }
        try await registry.disconnect(first)
        #expect(try await events.next() == .deviceChanged(try #require(registry.device(first))))
        #expect(registry.device(first)?.connected == false)
    }

    @Test func `the reasons of a failed connection are distinguished`() async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let registry = try await settled(fixture)
        await #expect(throws: DeviceCallError.unknownDevice) {
            try await registry.connectProfile(.handsFree, of: BluetoothAddress(value: 9))
        }
        fixture.fake.setReachable(false, first)
        await #expect(throws: DeviceCallError.unreachable) { try await registry.connect(first) }
        fixture.fake.setPowered(false)
        await #expect(throws: DeviceCallError.adapterOff) { try await registry.connect(first) }
        fixture.fake.stop()
        _ = try await event { $0 == .serviceVanished }
        await #expect(throws: DeviceCallError.serviceAbsent) { try await registry.connect(first) }
    }

    @Test(arguments: [
        ("org.bluez.Error.InProgress", "", DeviceCallError.inProgress),
        ("org.bluez.Error.Failed", "br-connection-busy", .inProgress),
        ("org.bluez.Error.Failed", "br-connection-key-missing", .notPaired),
        ("org.bluez.Error.NotAvailable", "br-connection-profile-unavailable", .profileUnavailable),
        ("org.bluez.Error.Failed", "Host is down", .unreachable),
        ("org.freedesktop.DBus.Error.UnknownMethod", "", .unknownDevice),
        ("org.freedesktop.DBus.Error.NoReply", "", .timedOut),
    ])
    func `BlueZ's errors have one meaning`(name: String, text: String, expected: DeviceCallError) {
        #expect(DeviceCallError(BusError(name: name, message: text)) == expected)
    }
}
