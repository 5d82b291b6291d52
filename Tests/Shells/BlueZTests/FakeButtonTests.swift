import BTCallSimulator
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

/// The simulated bluetoothd with talk buttons, as a program on the bus sees it.
@Suite @ControlPlane
struct FakeButtonTests {
    static let button = BluetoothAddress(value: 0x001B_DC08_0021)
    static let device = "/org/bluez/hci0/dev_00_1B_DC_08_00_21"
    static let characteristic = device + "/service0001/char0002"
    static let interface = "org.bluez.GattCharacteristic1"

    let values = EventQueue<[UInt8]>()
    let ports = EventQueue<PassedDescriptor>()

    /// A fixture with a button that notifies, and a subscription to its values.
    func lowEnergyFixture() async throws -> (BlueZFixture, Subscription) {
        let fixture = try await BlueZFixture()
        fixture.fake.addLowEnergyDevice(Self.button, name: "Button")
        let subscription = fixture.bus.subscribe(
            sender: "org.bluez", path: Self.characteristic, interface: "org.freedesktop.DBus.Properties",
            member: "PropertiesChanged"
        ) { [values] signal in
            if let value = signal.arguments.dropFirst().first?["Value"]?.bytesValue { values.push(value) }
        }
        return (fixture, subscription)
    }

    func call(_ fixture: BlueZFixture, _ path: String, _ interface: String, _ member: String) async throws {
        _ = try await fixture.bus.call("org.bluez", path, interface, member)
    }

    func serialFixture() async throws -> BlueZFixture {
        let fixture = try await BlueZFixture()
        fixture.fake.addSerialDevice(Self.button, name: "Button")
        try await register(.serialPort, at: "/serial", fixture)
        return fixture
    }

    func register(_ service: ServiceUUID, at path: String, _ fixture: BlueZFixture) async throws {
        let methods: [ExportedInterface.Method] = [
            .init("NewConnection", in: [("device", "o"), ("fd", "h"), ("properties", "a{sv}")]) { [ports] call in
                if let port = call.arguments[1].descriptorValue { ports.push(port) }
                return []
            }
        ]
        fixture.bus.export([ExportedInterface("org.bluez.Profile1", methods: methods)], at: path)
        _ = try await fixture.bus.call(
            "org.bluez", "/org/bluez", "org.bluez.ProfileManager1", "RegisterProfile",
            [.objectPath(path), .string(service.text), .vardict([:])])
    }

    func read(_ port: PassedDescriptor) async throws -> String {
        var bytes = [UInt8](repeating: 0, count: 64)
        var count = 0
        try await eventually("bytes have come") {
            count = Glibc.read(port.descriptor, &bytes, bytes.count)
            return count >= 0
        }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }

    @Test func `a characteristic exists from the first connection on`() async throws {
        let (fixture, _) = try await lowEnergyFixture()
        defer { fixture.stop() }
        #expect(fixture.fake.characteristicPath(of: Self.button) == nil)
        try await call(fixture, Self.device, "org.bluez.Device1", "Connect")
        #expect(fixture.fake.characteristicPath(of: Self.button) == Self.characteristic)
        fixture.fake.disconnect(Self.button)
        #expect(fixture.fake.characteristicPath(of: Self.button) == Self.characteristic)
    }

    @Test func `nothing is notified before a program asks, and equal values are notified each time`() async throws {
        let (fixture, subscription) = try await lowEnergyFixture()
        defer { fixture.stop() }
        fixture.fake.connectLowEnergy(Self.button)
        #expect(!fixture.fake.notify([1], from: Self.button))
        try await call(fixture, Self.characteristic, Self.interface, "StartNotify")
        #expect(fixture.fake.isNotifying(Self.button))
        #expect(fixture.fake.notify([2], from: Self.button))
        #expect(fixture.fake.notify([2], from: Self.button))
        #expect(try await values.next() == [2])
        #expect(try await values.next() == [2])
        try await call(fixture, Self.characteristic, Self.interface, "StopNotify")
        #expect(!fixture.fake.notify([3], from: Self.button))
        subscription.cancel()
    }

    @Test func `notifications go on when the device has come back`() async throws {
        let (fixture, subscription) = try await lowEnergyFixture()
        defer { fixture.stop() }
        fixture.fake.connectLowEnergy(Self.button)
        try await call(fixture, Self.characteristic, Self.interface, "StartNotify")
        fixture.fake.disconnect(Self.button)
        #expect(!fixture.fake.notify([1], from: Self.button))
        let error = await #expect(throws: BusError.self) {
            try await call(fixture, Self.characteristic, Self.interface, "StartNotify")
        }
        #expect(error?.name == "org.bluez.Error.InProgress")
        fixture.fake.connectLowEnergy(Self.button)
        #expect(fixture.fake.notify([2], from: Self.button))
        #expect(try await values.next() == [2])
        subscription.cancel()
    }

    @Test func `a restart of bluetoothd ends the connection and the notifications`() async throws {
        let (fixture, subscription) = try await lowEnergyFixture()
        defer { fixture.stop() }
        fixture.fake.connectLowEnergy(Self.button)
        try await call(fixture, Self.characteristic, Self.interface, "StartNotify")
        try await fixture.fake.restart()
        #expect(fixture.fake.characteristicPath(of: Self.button) == nil)
        fixture.fake.connectLowEnergy(Self.button)
        #expect(!fixture.fake.isNotifying(Self.button))
        subscription.cancel()
    }

    @Test func `a program that leaves the bus has no notifications`() async throws {
        let (fixture, subscription) = try await lowEnergyFixture()
        defer { fixture.stop() }
        fixture.fake.connectLowEnergy(Self.button)
        let other = try BusConnection(fixture.privateBus.address)
        _ = try await other.call("org.bluez", Self.characteristic, Self.interface, "StartNotify")
        #expect(fixture.fake.isNotifying(Self.button))
        other.close()
        try await eventually("the notifications have ended") { !fixture.fake.isNotifying(Self.button) }
        subscription.cancel()
    }

    @Test func `a device of Bluetooth Low Energy out of reach does not connect`() async throws {
        let (fixture, subscription) = try await lowEnergyFixture()
        defer { fixture.stop() }
        fixture.fake.setReachable(false, Self.button)
        let error = await #expect(throws: BusError.self) {
            try await call(fixture, Self.device, "org.bluez.Device1", "Connect")
        }
        #expect(error?.message == "le-connection-abort-by-local")
        subscription.cancel()
    }

    @Test(arguments: ["Connect", "ConnectProfile"])
    func `a program connects the serial port of a button, and reads what it sends`(member: String) async throws {
        let fixture = try await serialFixture()
        defer { fixture.stop() }
        let button = VirtualButton()
        fixture.fake.onSerialConnected = { _, descriptor in try? button.attach(descriptor) }
        _ = try await fixture.bus.call(
            "org.bluez", Self.device, "org.bluez.Device1", member,
            member == "Connect" ? [] : [.string(ServiceUUID.serialPort.text)])
        let port = try await ports.next()
        button.press()
        button.release()
        #expect(try await read(port) == "+PTT=P+PTT=R")
        fixture.fake.cutSerialPort(Self.button)
        #expect(try await read(port) == "")
        try await eventually("the button notices") { !button.isConnected }
    }

    @Test func `a serial port and the hands-free profile of one device are two connections`() async throws {
        let fixture = try await serialFixture()
        defer { fixture.stop() }
        try await register(.handsFreeAudioGateway, at: "/telephone", fixture)
        let headset = try await fixture.fake.connect(BlueZFixture.first)
        defer { close(headset) }
        let button = VirtualButton()
        try button.attach(try await fixture.fake.connect(BlueZFixture.first, to: .serialPort))
        let telephone = try await ports.next()
        let port = try await ports.next()
        fixture.fake.cutSerialPort(BlueZFixture.first)
        #expect(try await read(port) == "")
        #expect(fixture.fake.isLinked(BlueZFixture.first))
        fixture.fake.disconnect(BlueZFixture.first)
        #expect(try await read(telephone) == "")
        #expect(!fixture.fake.isSerialLinked(BlueZFixture.first))
    }
}
