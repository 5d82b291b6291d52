package import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// Reports the charge of headsets to bluetoothd (`org.bluez.BatteryProviderManager1`, `org.bluez.BatteryProvider1`), which
/// shows it to other programs as `org.bluez.Battery1`.
///
/// Exports an object for each headset with a known charge, below one root for each adapter. The root is registered with the
/// first object, and again when bluetoothd or the adapter comes back. bluetoothd has the interface only with its
/// experimental features on.
@ControlPlane
package final class BatteryProvider {
    package struct Battery: Hashable, Sendable {
        /// 0…100
        package let percent: Int
        /// How the headset reported it, for people.
        package let source: String

        package init(percent: Int, source: String) {
            self.percent = percent
            self.source = source
        }
    }

    /// Object of one headset on the bus.
    private struct Exported: Equatable {
        let address: BluetoothAddress
        let device: String
        var battery: Battery
    }

    private enum Registration: Equatable {
        case asked(attempt: Int)
        case registered
        /// Not retried before bluetoothd or the adapter comes back.
        case refused
    }

    private static let callTimeout = Duration.seconds(10)

    private let bus: BusConnection
    private let registry: DeviceRegistry
    private let path: String
    private let logger: Logger
    private var batteries: [BluetoothAddress: Battery] = [:]
    /// By object path.
    private var exported: [String: Exported] = [:]
    /// By the adapter's object path.
    private var registrations: [String: Registration] = [:]
    private var attempts = 0
    private var hasLoggedAbsence = false

    /// - Parameter path: parent of the roots of all adapters.
    package init(
        bus: BusConnection, registry: DeviceRegistry, path: String = "/org/btcall/battery",
        logger: Logger = Logger(label: "btcall.bluez")
    ) {
        self.bus = bus
        self.registry = registry
        self.path = path
        self.logger = logger
    }

    /// Sets a headset's charge; nil if it is unknown or the headset has gone.
    package func set(_ battery: Battery?, of address: BluetoothAddress) {
        guard batteries[address] != battery else { return }
        batteries[address] = battery
        refresh()
    }

    /// Updates objects and registrations after a change of the batteries or the registry.
    package func refresh() {
        guard !batteries.isEmpty || !exported.isEmpty || !registrations.isEmpty else { return }
        let adapters = Set(registry.adapters.map(\.path))
        registrations = registrations.filter { adapters.contains($0.key) }
        let wanted = wanted(adapters)
        for (object, old) in exported.sorted(by: { $0.key < $1.key }) {
            if let new = wanted[object], new.device == old.device { continue }
            bus.unexport(path: object)
            exported[object] = nil
        }
        for (object, new) in wanted.sorted(by: { $0.key < $1.key }) {
            let old = exported.updateValue(new, forKey: object)
            if let old {
                signalChanges(of: object, to: new.battery, from: old.battery)
            } else {
                bus.export([interface(object)], at: object)
            }
        }
        let used = Set(wanted.values.compactMap { registry.device($0.address)?.adapterPath })
        for adapter in used.sorted() where registrations[adapter] == nil { register(adapter) }
    }

    /// Withdraws everything.
    package func stop() {
        for object in exported.keys.sorted() { bus.unexport(path: object) }
        for adapter in registrations.keys.sorted() where registrations[adapter] == .registered {
            bus.post(
                BlueZNames.service, adapter, BlueZNames.batteryManager, "UnregisterBatteryProvider",
                [.objectPath(root(adapter))])
        }
        batteries = [:]
        exported = [:]
        registrations = [:]
    }

    private func wanted(_ adapters: Set<String>) -> [String: Exported] {
        var wanted: [String: Exported] = [:]
        for (address, battery) in batteries {
            guard let device = registry.device(address), adapters.contains(device.adapterPath) else { continue }
            let object = "\(root(device.adapterPath))/dev_\(address.pathComponent)"
            wanted[object] = Exported(address: address, device: device.path, battery: battery)
        }
        return wanted
    }

    private func root(_ adapter: String) -> String {
        "\(path)/\(adapter.split(separator: "/").last ?? "adapter")"
    }

    private func signalChanges(of object: String, to new: Battery, from old: Battery) {
        var changed: [String] = []
        if new.percent != old.percent { changed.append("Percentage") }
        if new.source != old.source { changed.append("Source") }
        guard !changed.isEmpty else { return }
        bus.propertiesChanged(path: object, interface: BlueZNames.batteryProvider, changed)
    }

    private func interface(_ object: String) -> ExportedInterface {
        ExportedInterface(
            BlueZNames.batteryProvider,
            properties: [
                .init(
                    "Device", "o", changes: .constant,
                    get: { [weak self] in .objectPath(self?.exported[object]?.device ?? "/") }),
                .init(
                    "Percentage", "y",
                    get: { [weak self] in .byte(UInt8(clamping: self?.exported[object]?.battery.percent ?? 0)) }),
                .init("Source", "s", get: { [weak self] in .string(self?.exported[object]?.battery.source ?? "") }),
            ])
    }

    // MARK: Registration

    private func register(_ adapter: String) {
        attempts += 1
        let attempt = attempts
        registrations[adapter] = .asked(attempt: attempt)
        // bluetoothd requests the objects at once.
        bus.exportObjectManager(at: root(adapter))
        bus.send(
            BlueZNames.service, adapter, BlueZNames.batteryManager, "RegisterBatteryProvider",
            [.objectPath(root(adapter))], timeout: Self.callTimeout
        ) { [weak self] in self?.answered($0, adapter, attempt) }
    }

    private func answered(_ result: Result<[Value], BusError>, _ adapter: String, _ attempt: Int) {
        // bluetoothd or the adapter may have left meanwhile.
        guard registrations[adapter] == .asked(attempt: attempt) else { return }
        switch result {
        case .success: registrations[adapter] = .registered
        case .failure(let error) where error.hasName(BlueZNames.errorPrefix + "AlreadyExists"):
            registrations[adapter] = .registered
        case .failure(let error)
        where error.hasName(BusError.Name.unknownMethod) || error.hasName(BusError.Name.unknownInterface):
            registrations[adapter] = .refused
            guard !hasLoggedAbsence else { return }
            hasLoggedAbsence = true
            logger.info(
                """
                bluetoothd does not accept the battery levels of headsets: its experimental features are off \
                (Experimental = true in /etc/bluetooth/main.conf); btcall devices has them
                """)
        case .failure(let error):
            registrations[adapter] = .refused
            logger.warning("bluetoothd does not accept the battery levels of headsets: \(error)")
        }
    }
}
