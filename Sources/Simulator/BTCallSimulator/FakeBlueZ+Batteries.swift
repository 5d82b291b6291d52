package import BluetoothTypes
import ControlLoop
import DBus

/// `org.bluez.BatteryProviderManager1`: turns programs' battery reports into a device's `org.bluez.Battery1`.
extension FakeBlueZ {
    /// A registration by `RegisterBatteryProvider`.
    package struct BatteryProvider: Hashable, Sendable {
        /// Unique bus name.
        package let owner: String
        /// Root path of its objects.
        package let path: String
        package let adapter: String
    }

    /// The battery level that bluetoothd would report; nil without `org.bluez.Battery1`.
    package func battery(of address: BluetoothAddress) -> (percent: UInt8, source: String?)? {
        guard let path = devicePath(address), let battery = objects[path]?[FakeBlueZNames.battery],
            let percent = battery["Percentage"]?.byteValue
        else { return nil }
        return (percent, battery["Source"]?.stringValue)
    }

    func publishBatteryManagers() {
        for path in objects.keys.sorted() where objects[path]?[FakeBlueZNames.adapter] != nil {
            let isThere = objects[path]?[FakeBlueZNames.batteryManager] != nil
            if takesBatteries, !isThere {
                add(path, [FakeBlueZNames.batteryManager: [:]])
            } else if !takesBatteries, isThere {
                objects[path]?[FakeBlueZNames.batteryManager] = nil
                bus?.unexport(path: path, interface: FakeBlueZNames.batteryManager)
            }
        }
    }

    func batteryManagerMethods(_ adapter: String) -> [ExportedInterface.Method] {
        [
            .init("RegisterBatteryProvider", in: [("provider", "o")]) { [weak self] call throws(BusError) in
                try self?.register(call, adapter)
                return []
            },
            .init("UnregisterBatteryProvider", in: [("provider", "o")]) { [weak self] call throws(BusError) in
                guard let self else { return [] }
                let path = call.arguments.first?.objectPathValue
                guard
                    batteryProviders.contains(where: {
                        $0.owner == call.sender && $0.path == path && $0.adapter == adapter
                    })
                else { throw bluezError("DoesNotExist", "Does Not Exist") }
                forgetBatteryProviders { $0.owner == call.sender && $0.path == path && $0.adapter == adapter }
                return []
            },
        ]
    }

    private func register(_ call: MethodCall, _ adapter: String) throws(BusError) {
        guard let path = call.arguments.first?.objectPathValue else {
            throw bluezError("InvalidArguments", "Invalid arguments in method call")
        }
        let provider = BatteryProvider(owner: call.sender, path: path, adapter: adapter)
        guard !batteryProviders.contains(provider) else { throw bluezError("AlreadyExists", "Already Exists") }
        batteryProviders.append(provider)
        watch(call.sender)
        follow(provider)
    }

    /// Subscribes like the real one: signals first, then the present objects.
    private func follow(_ provider: BatteryProvider) {
        guard let bus else { return }
        let manager = FakeBlueZNames.objectManager
        batterySignals[provider] = [
            bus.subscribe(sender: provider.owner, path: provider.path, interface: manager, member: "InterfacesAdded") {
                [weak self] signal in
                guard signal.arguments.count == 2, let path = signal.arguments[0].objectPathValue else { return }
                self?.objectAppeared(path, signal.arguments[1][FakeBlueZNames.batteryProvider], of: provider)
            },
            bus.subscribe(
                sender: provider.owner, path: provider.path, interface: manager, member: "InterfacesRemoved"
            ) { [weak self] signal in
                guard signal.arguments.count == 2, let path = signal.arguments[0].objectPathValue,
                    signal.arguments[1].stringsValue?.contains(FakeBlueZNames.batteryProvider) == true
                else { return }
                self?.forgetBatteries { $0 == path }
            },
            bus.subscribe(
                sender: provider.owner, pathNamespace: provider.path, interface: FakeBlueZNames.properties,
                member: "PropertiesChanged", argument0: FakeBlueZNames.batteryProvider
            ) { [weak self] signal in
                // Reads the source once, like the real one.
                guard let self, signal.arguments.count == 3, let device = batteryDevices[signal.path],
                    let percent = signal.arguments[1]["Percentage"]
                else { return }
                set("Percentage", percent, of: FakeBlueZNames.battery, at: device)
            },
        ]
        bus.send(provider.owner, provider.path, manager, "GetManagedObjects") { [weak self] result in
            guard case .success(let values) = result else { return }
            for entry in values.first?.entries ?? [] {
                guard let path = entry.key.objectPathValue else { continue }
                self?.objectAppeared(path, entry.value[FakeBlueZNames.batteryProvider], of: provider)
            }
        }
    }

    /// Handles a new object of the provider, which must name a device of the adapter without a battery.
    private func objectAppeared(_ path: String, _ properties: Value?, of provider: BatteryProvider) {
        guard batteryProviders.contains(provider), path.hasPrefix(provider.path + "/"), let properties,
            let device = properties["Device"]?.objectPathValue, device.hasPrefix(provider.adapter + "/"),
            let percent = properties["Percentage"]?.byteValue, percent <= 100, let known = objects[device],
            known[FakeBlueZNames.battery] == nil
        else { return }
        batteryDevices[path] = device
        let source = properties["Source"]?.stringValue ?? ""
        add(device, [FakeBlueZNames.battery: ["Percentage": .byte(percent), "Source": .string(source)]])
    }

    func forgetBatteryProviders(where isGone: (BatteryProvider) -> Bool = { _ in true }) {
        for provider in batteryProviders where isGone(provider) {
            for subscription in batterySignals.removeValue(forKey: provider) ?? [] { subscription.cancel() }
            forgetBatteries { $0.hasPrefix(provider.path + "/") }
        }
        batteryProviders.removeAll(where: isGone)
    }

    private func forgetBatteries(where isGone: (String) -> Bool) {
        for (path, device) in batteryDevices.sorted(by: { $0.key < $1.key }) where isGone(path) {
            batteryDevices[path] = nil
            guard objects[device]?.removeValue(forKey: FakeBlueZNames.battery) != nil else { continue }
            bus?.unexport(path: device, interface: FakeBlueZNames.battery)
        }
    }
}
