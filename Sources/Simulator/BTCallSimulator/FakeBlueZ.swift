package import BluetoothTypes
package import ControlLoop
package import DBus
import Glibc

/// An `org.bluez` without a radio: adapters, devices and profiles on a private bus, for tests, for the demo, and for testing
/// a box without headsets.
///
/// A headset's RFCOMM connection is a pair of sockets: one end goes to the program that registered the profile, the other to
/// the caller. Everything happens on the control loop.
@ControlPlane
package final class FakeBlueZ {
    /// A registration by `RegisterProfile`.
    package struct Profile: Equatable, Sendable {
        /// Unique bus name.
        package let owner: String
        package let path: String
        package let uuid: ServiceUUID
        /// As written by the program: like bluetoothd 5.66 the fake treats two spellings as two services.
        package let uuidText: String
        package let options: [String: Value]
    }

    struct Link {
        /// A duplicate of the headset's end, used to cut both ends off.
        let headset: PassedDescriptor
        let profile: Profile
    }

    /// Called when a program connects a headset in reach (`ConnectProfile`, `Connect`) with the headset's end of the
    /// connection, owned by the handler. Without a handler such requests are refused.
    package var onConnected: (@ControlPlane (BluetoothAddress, Int32) -> Void)?
    /// The same for the serial port of a device in reach.
    package var onSerialConnected: (@ControlPlane (BluetoothAddress, Int32) -> Void)?
    /// Called first when a program connects one profile of a headset: returns true when it has handled the request, throws
    /// to refuse it.
    package var onProfileRequest: (@ControlPlane (BluetoothAddress, ServiceUUID) async throws(BusError) -> Bool)?
    /// Time that `Connect` takes to find a headset out of reach; the real one takes 5.1 s.
    package var pageTimeout = Duration.zero
    /// Delays a registration until it returns: for a slow bluetoothd.
    package var onRegistration: (@ControlPlane () async -> Void)?
    /// Kernel buffer in bytes for data to a headset that does not read; nil for the default. Applies to later connections.
    package var outputBuffer: Int32?
    package internal(set) var profiles: [Profile] = [] {
        didSet { publishServices() }
    }
    /// The profiles that programs asked to connect, in order; other calls such as `Disconnect` are answered and not
    /// recorded.
    package internal(set) var connectRequests: [ServiceUUID] = []

    /// Devices that programs asked to connect with all profiles (`Connect`), in order.
    package internal(set) var pages: [BluetoothAddress] = []
    /// Devices being paged, and whether the page was cancelled (`Disconnect`).
    package internal(set) var paging: [BluetoothAddress: Bool] = [:]

    /// Whether adapters accept battery levels from programs; bluetoothd's do with experimental features only.
    package var takesBatteries = true {
        didSet { publishBatteryManagers() }
    }
    package internal(set) var batteryProviders: [BatteryProvider] = []

    /// The parts of A2DP and AVRCP that bluetoothd supports.
    package var mediaSupport = MediaSupport.all {
        didSet { publishMedia() }
    }
    /// Behaviour of headsets and bluetoothd with A2DP, and its results.
    package let media = FakeMedia()

    /// Searching and pairing.
    package let pairing = FakePairing()

    /// Devices of Bluetooth Low Energy.
    package let lowEnergy = FakeLowEnergy()

    let address: BusAddress
    var bus: BusConnection?
    /// Object path, then interface, then property.
    var objects: [String: [String: [String: Value]]] = [:]
    /// Connections of telephone profiles, one a headset.
    var links: [BluetoothAddress: Link] = [:]
    /// Connections of serial ports, one a device.
    var serialLinks: [BluetoothAddress: Link] = [:]
    var unreachable: Set<BluetoothAddress> = []
    var ownerWatches: [String: Subscription] = [:]
    /// Devices of battery providers' objects, by the objects' paths.
    var batteryDevices: [String: String] = [:]
    var batterySignals: [BatteryProvider: [Subscription]] = [:]

    /// - Parameter address: a private bus (`FakeBlueZBus`); never the system's.
    package init(on address: BusAddress) {
        self.address = address
    }

    package var isRunning: Bool { bus != nil }

    /// Connects, exports all objects and takes the bus name.
    package func start() async throws(BusError) {
        guard bus == nil else { return }
        let connection = try BusConnection(address)
        bus = connection
        connection.exportObjectManager(at: "/")
        connection.export([profileManagerInterface(), agentManagerInterface()], at: FakeBlueZNames.managerPath)
        for path in objects.keys.sorted() { export(path) }
        do throws(BusError) {
            try await connection.requestName(FakeBlueZNames.service)
        } catch {
            connection.close()
            bus = nil
            throw error
        }
    }

    /// Leaves the bus. Profiles are forgotten; adapters, devices and the headsets' connections stay, as the kernel keeps
    /// them when bluetoothd dies.
    ///
    /// - Parameter releasing: releases the profiles first, as bluetoothd does in an orderly stop.
    package func stop(releasing: Bool = false) {
        guard let connection = bus else { return }
        if releasing {
            for profile in profiles where !profile.owner.isEmpty {
                connection.post(profile.owner, profile.path, FakeBlueZNames.profile, "Release")
            }
            releaseMedia()
            connection.flush()
        }
        forgetMedia()
        forgetPairing()
        forgetCharacteristics()
        for watch in ownerWatches.values { watch.cancel() }
        ownerWatches = [:]
        profiles = []
        bus = nil
        forgetBatteryProviders()
        connection.close()
    }

    /// Kills bluetoothd and starts it again after a pause.
    package func restart(after pause: Duration = .zero) async throws(BusError) {
        stop()
        if pause > .zero { await ControlLoop.shared.sleep(for: pause) }
        try await start()
    }

    /// - Returns: the object path.
    @discardableResult
    package func addAdapter(
        _ controller: String = "hci0", address: BluetoothAddress, name: String = "btcall", powered: Bool = true
    ) -> String {
        let path = "\(FakeBlueZNames.managerPath)/\(controller)"
        add(
            path,
            [
                FakeBlueZNames.adapter: [
                    "Address": .string(address.description), "Name": .string(name), "Alias": .string(name),
                    "Class": .uint32(0x40_0000), "Powered": .bool(powered), "Discoverable": .bool(false),
                    "DiscoverableTimeout": .uint32(180), "Pairable": .bool(false), "Discovering": .bool(false),
                    "UUIDs": .strings([]),
                ]
            ])
        publishBatteryManagers()
        publishMedia()
        return path
    }

    /// Adds a paired headset, in reach and not connected.
    ///
    /// - Parameters:
    ///   - properties: replace or complete those of `org.bluez.Device1`, of any type, including malformed ones.
    /// - Returns: the object path.
    @discardableResult
    package func addHeadset(
        _ address: BluetoothAddress, name: String, classOfDevice: ClassOfDevice = ClassOfDevice(bits: 0x24_0404),
        services: [ServiceUUID] = [.handsFree, .audioSink], adapter: String = "/org/bluez/hci0",
        properties: [String: Value] = [:]
    ) -> String {
        let path = "\(adapter)/dev_\(address.pathComponent)"
        let usual: [String: Value] = [
            "Address": .string(address.description), "Adapter": .objectPath(adapter), "Name": .string(name),
            "Alias": .string(name), "Class": .uint32(classOfDevice.bits), "Icon": "audio-headset", "Paired": true,
            "Trusted": true, "Blocked": false, "Connected": false, "ServicesResolved": true,
            "UUIDs": .strings(services.map(\.text)),
        ]
        unreachable.remove(address)
        add(path, [FakeBlueZNames.device: usual.merging(properties) { $1 }])
        return path
    }

    /// Removes the device or adapter from the tree, as after `RemoveDevice` or when a dongle is pulled.
    package func remove(path: String) {
        for removed in objects.keys.sorted(by: >) where removed == path || removed.hasPrefix(path + "/") {
            if let device = deviceAddress(of: removed) { cut(device) }
            forgetLowEnergy(removed)
            objects[removed] = nil
            bus?.unexport(path: removed)
            forgetBatteryProviders { $0.adapter == removed }
            forgetMedia(at: removed)
        }
    }

    package func remove(_ address: BluetoothAddress) {
        if let path = devicePath(address) { remove(path: path) }
    }

    package func setPowered(_ powered: Bool, adapter: String = "/org/bluez/hci0") {
        set("Powered", .bool(powered), of: FakeBlueZNames.adapter, at: adapter)
        guard !powered else { return }
        for path in objects.keys.sorted() where path.hasPrefix(adapter + "/") {
            if let device = deviceAddress(of: path) { disconnect(device) }
        }
    }

    /// Sets the state of the radio link alone, without any profile.
    package func setConnected(_ connected: Bool, _ address: BluetoothAddress) {
        guard let path = devicePath(address) else { return }
        set("Connected", .bool(connected), of: FakeBlueZNames.device, at: path)
    }

    /// Sets the battery level reported by bluetoothd itself, in per cent.
    package func setBattery(_ percent: UInt8, _ address: BluetoothAddress) {
        guard let path = devicePath(address) else { return }
        if objects[path]?[FakeBlueZNames.battery] != nil {
            set("Percentage", .byte(percent), of: FakeBlueZNames.battery, at: path)
        } else {
            add(path, [FakeBlueZNames.battery: ["Percentage": .byte(percent)]])
        }
    }

    /// Sets any property, of any type, and signals it.
    package func set(_ name: String, _ value: Value, of interface: String = "org.bluez.Device1", at path: String) {
        guard objects[path]?[interface]?[name] != nil, objects[path]?[interface]?[name] != value else { return }
        objects[path]?[interface]?[name] = value
        bus?.propertiesChanged(path: path, interface: interface, [name])
    }

    /// Sends any signal as bluetoothd: for broken ones.
    package func emit(path: String, interface: String, member: String, _ arguments: [Value]) {
        bus?.emit(path: path, interface: interface, member: member, arguments)
    }

    /// Pretends that another program has registered the service: `RegisterProfile` answers "UUID already registered".
    package func occupy(_ uuid: ServiceUUID) {
        profiles.append(Profile(owner: "", path: "/occupied", uuid: uuid, uuidText: uuid.text, options: [:]))
    }

    /// Ends `occupy`.
    package func vacate(_ uuid: ServiceUUID) {
        profiles.removeAll { $0.uuid == uuid && $0.owner.isEmpty }
    }
}
