package import BluetoothTypes
package import ControlLoop
package import DBus
import Glibc

/// An `org.bluez` without a radio: adapters, devices and profiles on a bus of its own, for tests, for the demo, and for
/// people who test their box without headsets.
///
/// A headset's RFCOMM connection is a pair of sockets: one end goes to the program that registered the profile, the other
/// to the caller. Everything happens on the control loop.
@ControlPlane
package final class FakeBlueZ {
    /// What a program has registered with `RegisterProfile`.
    package struct Profile: Equatable, Sendable {
        /// Unique bus name.
        package let owner: String
        package let path: String
        package let uuid: ServiceUUID
        /// As the program wrote it: like bluetoothd 5.66 the fake takes two spellings for two services.
        package let uuidText: String
        package let options: [String: Value]
    }

    struct Link {
        /// A duplicate of the headset's end: what cuts both ends off.
        let headset: PassedDescriptor
        let profile: Profile
    }

    /// Called when a program connects a headset that is in reach (`ConnectProfile`, `Connect`): the headset's end of the
    /// connection, owned by the handler. Without a handler such requests are refused.
    package var onConnected: (@ControlPlane (BluetoothAddress, Int32) -> Void)?
    /// Asked first when a program connects one profile of a headset: true when it has seen to that, an error to refuse it.
    package var onProfileRequest: (@ControlPlane (BluetoothAddress, ServiceUUID) async throws(BusError) -> Bool)?
    /// How long `Connect` takes to find that a headset is out of reach; the real one takes 5.1 s.
    package var pageTimeout = Duration.zero
    /// A profile is registered when this returns: for a bluetoothd that takes its time.
    package var onRegistration: (@ControlPlane () async -> Void)?
    /// How much of what a program sends to a headset the kernel keeps while the headset reads nothing, in bytes; nil: as much
    /// as it does by default. Of connections from then on.
    package var outputBuffer: Int32?
    package internal(set) var profiles: [Profile] = [] {
        didSet { publishServices() }
    }
    /// Calls of `Disconnect` and of the like are answered, not recorded; these are the profiles asked for, in order.
    package internal(set) var connectRequests: [ServiceUUID] = []

    /// The devices that were asked to be connected with all their profiles (`Connect`), in order.
    package internal(set) var pages: [BluetoothAddress] = []
    /// Those that are being paged, and whether that was given up (`Disconnect`).
    package internal(set) var paging: [BluetoothAddress: Bool] = [:]

    /// Whether adapters take battery levels from programs; bluetoothd's do with experimental features only.
    package var takesBatteries = true {
        didSet { publishBatteryManagers() }
    }
    package internal(set) var batteryProviders: [BatteryProvider] = []

    /// Which of A2DP and AVRCP bluetoothd has.
    package var mediaSupport = MediaSupport.all {
        didSet { publishMedia() }
    }
    /// How headsets and bluetoothd behave with A2DP, and what came of it.
    package let media = FakeMedia()

    /// Searching and pairing.
    package let pairing = FakePairing()

    let address: BusAddress
    var bus: BusConnection?
    /// Object path, then interface, then property.
    var objects: [String: [String: [String: Value]]] = [:]
    var links: [BluetoothAddress: Link] = [:]
    var unreachable: Set<BluetoothAddress> = []
    var ownerWatches: [String: Subscription] = [:]
    /// The devices that objects of battery providers speak of, by the objects' paths.
    var batteryDevices: [String: String] = [:]
    var batterySignals: [BatteryProvider: [Subscription]] = [:]

    /// - Parameter address: a private bus (`FakeBlueZBus`); never the system's.
    package init(on address: BusAddress) {
        self.address = address
    }

    package var isRunning: Bool { bus != nil }

    /// Connects, exports all objects and takes the name.
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
    /// - Parameter releasing: says good-bye to the profiles first, as bluetoothd does when it is stopped properly.
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
        for watch in ownerWatches.values { watch.cancel() }
        ownerWatches = [:]
        profiles = []
        bus = nil
        forgetBatteryProviders()
        connection.close()
    }

    /// bluetoothd is killed, and started again after a while.
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

    /// A paired headset, in reach and not connected.
    ///
    /// - Parameters:
    ///   - properties: replace or complete those of `org.bluez.Device1`, of any type: for malformed ones, too.
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

    /// Takes the device, or the adapter, out of the tree, as after `RemoveDevice` or when a dongle is pulled.
    package func remove(path: String) {
        for removed in objects.keys.sorted(by: >) where removed == path || removed.hasPrefix(path + "/") {
            if let device = deviceAddress(of: removed) { cut(device) }
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

    /// Sets the radio link's state alone; no profile comes with it.
    package func setConnected(_ connected: Bool, _ address: BluetoothAddress) {
        guard let path = devicePath(address) else { return }
        set("Connected", .bool(connected), of: FakeBlueZNames.device, at: path)
    }

    /// What bluetoothd itself says of the battery, per cent.
    package func setBattery(_ percent: UInt8, _ address: BluetoothAddress) {
        guard let path = devicePath(address) else { return }
        if objects[path]?[FakeBlueZNames.battery] != nil {
            set("Percentage", .byte(percent), of: FakeBlueZNames.battery, at: path)
        } else {
            add(path, [FakeBlueZNames.battery: ["Percentage": .byte(percent)]])
        }
    }

    /// Sets any property, of any type, and tells the bus.
    package func set(_ name: String, _ value: Value, of interface: String = "org.bluez.Device1", at path: String) {
        guard objects[path]?[interface]?[name] != nil, objects[path]?[interface]?[name] != value else { return }
        objects[path]?[interface]?[name] = value
        bus?.propertiesChanged(path: path, interface: interface, [name])
    }

    /// Sends any signal from bluetoothd's place: for what a broken one would send.
    package func emit(path: String, interface: String, member: String, _ arguments: [Value]) {
        bus?.emit(path: path, interface: interface, member: member, arguments)
    }

    /// Another program seems to have registered the service: `RegisterProfile` answers "UUID already registered".
    package func occupy(_ uuid: ServiceUUID) {
        profiles.append(Profile(owner: "", path: "/occupied", uuid: uuid, uuidText: uuid.text, options: [:]))
    }

    /// Ends `occupy`.
    package func vacate(_ uuid: ServiceUUID) {
        profiles.removeAll { $0.uuid == uuid && $0.owner.isEmpty }
    }
}
