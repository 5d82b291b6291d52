import BluetoothTypes
import ControlLoop
import DBus

extension FakeBlueZ {
    func add(_ path: String, _ interfaces: [String: [String: Value]]) {
        objects[path, default: [:]].merge(interfaces) { $1 }
        export(path, Set(interfaces.keys))
    }

    /// - Parameter interfaces: only these interfaces; nil for all of the object.
    func export(_ path: String, _ interfaces: Set<String>? = nil) {
        let names = (objects[path] ?? [:]).keys.filter { interfaces?.contains($0) ?? true }.sorted()
        bus?.export(names.map { interface($0, at: path) }, at: path)
    }

    func devicePath(_ address: BluetoothAddress) -> String? {
        objects.keys.sorted().first { deviceAddress(of: $0) == address }
    }

    func deviceAddress(of path: String) -> BluetoothAddress? {
        guard objects[path]?[FakeBlueZNames.device] != nil, let last = path.split(separator: "/").last else {
            return nil
        }
        return BluetoothAddress(last.dropFirst("dev_".count))
    }

    /// Updates the adapters' service records from the registered profiles.
    func publishServices() {
        let services = Set(profiles.map(\.uuid.text)).sorted()
        for path in objects.keys.sorted() where objects[path]?[FakeBlueZNames.adapter] != nil {
            set("UUIDs", .strings(services), of: FakeBlueZNames.adapter, at: path)
        }
    }

    func profileManagerInterface() -> ExportedInterface {
        ExportedInterface(
            FakeBlueZNames.profileManager,
            methods: [
                .init("RegisterProfile", in: [("profile", "o"), ("UUID", "s"), ("options", "a{sv}")]) {
                    [weak self] call async throws(BusError) in
                    await self?.onRegistration?()
                    try self?.register(call)
                    return []
                },
                .init("UnregisterProfile", in: [("profile", "o")]) { [weak self] call throws(BusError) in
                    try self?.unregister(call)
                    return []
                },
            ])
    }

    private func register(_ call: MethodCall) throws(BusError) {
        guard call.arguments.count == 3, let path = call.arguments[0].objectPathValue,
            let uuid = call.arguments[1].stringValue, let options = call.arguments[2].vardictValue
        else { throw bluezError("InvalidArguments", "Invalid arguments in method call") }
        guard !profiles.contains(where: { $0.owner == call.sender && $0.path == path }) else {
            throw bluezError("AlreadyExists", "Already Exists")
        }
        let service = ServiceUUID(text: uuid)
        guard !profiles.contains(where: { $0.uuidText == uuid }) else {
            throw bluezError("NotPermitted", "UUID already registered")
        }
        profiles.append(Profile(owner: call.sender, path: path, uuid: service, uuidText: uuid, options: options))
        watch(call.sender)
    }

    /// Removes a program's registrations when it leaves.
    func watch(_ program: String) {
        guard ownerWatches[program] == nil else { return }
        ownerWatches[program] = bus?.watchName(program) { [weak self] owner in
            if owner == nil { self?.forget(program) }
        }
    }

    private func unregister(_ call: MethodCall) throws(BusError) {
        let path = call.arguments.first?.objectPathValue
        guard let index = profiles.firstIndex(where: { $0.owner == call.sender && $0.path == path }) else {
            throw bluezError("DoesNotExist", "Does Not Exist")
        }
        profiles.remove(at: index)
    }

    private func forget(_ owner: String) {
        profiles.removeAll { $0.owner == owner }
        forgetBatteryProviders { $0.owner == owner }
        forgetMedia(of: owner)
        forgetPairing(of: owner)
        forgetNotifications(of: owner)
        ownerWatches.removeValue(forKey: owner)?.cancel()
    }

    private func interface(_ name: String, at path: String) -> ExportedInterface {
        let values = objects[path]?[name] ?? [:]
        let properties = values.keys.sorted().map { property in
            let value = values[property] ?? .bool(false)
            let get: @ControlPlane () -> Value = { [weak self] in self?.objects[path]?[name]?[property] ?? value }
            switch (name, property) {
            case (FakeBlueZNames.adapter, "Powered"):
                return ExportedInterface.Property(
                    property, value.typeSignature, get: get,
                    set: { [weak self] in self?.setPowered($0.boolValue ?? false, adapter: path) })
            case (FakeBlueZNames.adapter, "Alias"):
                return ExportedInterface.Property(
                    property, value.typeSignature, get: get,
                    set: { [weak self] in
                        // Like the real one: without an alias it is the name.
                        guard let self, let text = $0.stringValue else { return }
                        let alias = text.isEmpty ? objects[path]?[name]?["Name"] : .string(text)
                        set(property, alias ?? value, of: name, at: path)
                    })
            case (FakeBlueZNames.adapter, "Pairable"), (FakeBlueZNames.adapter, "Discoverable"),
                (FakeBlueZNames.adapter, "DiscoverableTimeout"), (FakeBlueZNames.device, "Trusted"):
                return ExportedInterface.Property(
                    property, value.typeSignature, get: get,
                    set: { [weak self] in self?.set(property, $0.unwrapped, of: name, at: path) })
            case (FakeBlueZNames.mediaTransport, "Volume"):
                return ExportedInterface.Property(
                    property, value.typeSignature, get: get,
                    set: { [weak self] value throws(BusError) in try self?.volumeAsked(value, path) })
            default: return ExportedInterface.Property(property, value.typeSignature, get: get)
            }
        }
        let methods =
            switch name {
            case FakeBlueZNames.device: deviceMethods(path) + pairingMethods(path)
            case FakeBlueZNames.adapter: adapterMethods(path) + discoveryMethods(path)
            case FakeBlueZNames.batteryManager: batteryManagerMethods(path)
            case FakeBlueZNames.media: mediaMethods(path)
            case FakeBlueZNames.mediaTransport: mediaTransportMethods(path)
            case FakeBlueZNames.gattCharacteristic: characteristicMethods(path)
            default: [ExportedInterface.Method]()
            }
        return ExportedInterface(name, methods: methods, properties: properties)
    }

    private func adapterMethods(_ path: String) -> [ExportedInterface.Method] {
        [
            .init("RemoveDevice", in: [("device", "o")]) { [weak self] call throws(BusError) in
                guard let self else { return [] }
                let device = call.arguments.first?.objectPathValue ?? ""
                guard device.hasPrefix(path + "/"), objects[device] != nil else {
                    throw bluezError("DoesNotExist", "Does Not Exist")
                }
                remove(path: device)
                return []
            }
        ]
    }

    private func deviceMethods(_ path: String) -> [ExportedInterface.Method] {
        [
            .init("Connect") { [weak self] _ throws(BusError) in
                guard let self else { return [] }
                if let address = deviceAddress(of: path) { pages.append(address) }
                if isLowEnergy(path) {
                    try await connectLowEnergyRequested(path)
                } else {
                    try await connectRequested(path, hasSerialPortOnly(path) ? .serialPort : .handsFree)
                }
                return []
            },
            .init("ConnectProfile", in: [("UUID", "s")]) { [weak self] call throws(BusError) in
                let service = ServiceUUID(text: call.arguments.first?.stringValue ?? "")
                try await self?.connectRequested(path, service)
                return []
            },
            .init("Disconnect") { [weak self] _ throws(BusError) in
                try await self?.disconnectRequested(path)
                return []
            },
            .init("DisconnectProfile", in: [("UUID", "s")]) { [weak self] call throws(BusError) in
                let isSerial = call.arguments.first?.stringValue?.lowercased() == ServiceUUID.serialPort.text
                guard let self, let address = deviceAddress(of: path),
                    isSerial ? isSerialLinked(address) : isLinked(address)
                else {
                    throw BusError(name: FakeBlueZNames.error + "NotConnected", message: "Not Connected")
                }
                await isSerial ? releaseSerialPort(address) : releaseProfile(address)
                return []
            },
        ]
    }

    /// A device whose only profile for programs is the serial port.
    private func hasSerialPortOnly(_ path: String) -> Bool {
        let services = objects[path]?[FakeBlueZNames.device]?["UUIDs"]?.stringsValue ?? []
        return services.contains(ServiceUUID.serialPort.text) && !services.contains(ServiceUUID.handsFree.text)
            && !services.contains(ServiceUUID.headset.text)
    }

    /// - Returns: the device's address.
    func reachedAdapter(of path: String, _ failure: String) throws(BusError) -> BluetoothAddress {
        guard let address = deviceAddress(of: path) else { throw bluezError("DoesNotExist", "Does Not Exist") }
        let adapter = objects[path]?[FakeBlueZNames.device]?["Adapter"]?.stringValue ?? ""
        guard objects[adapter]?[FakeBlueZNames.adapter]?["Powered"]?.boolValue == true else {
            throw bluezError("Failed", failure)
        }
        return address
    }

    private func connectRequested(_ path: String, _ service: ServiceUUID) async throws(BusError) {
        connectRequests.append(service)
        let address = try reachedAdapter(of: path, "br-connection-adapter-not-powered")
        if try await onProfileRequest?(address, service) == true { return }
        if unreachable.contains(address) { try await page(address) }
        guard let handler = service == .serialPort ? onSerialConnected : onConnected else {
            throw bluezError("Failed", "br-connection-refused")
        }
        let counterpart: ServiceUUID =
            switch service {
            case .headset: .headsetAudioGateway
            case .serialPort: .serialPort
            default: .handsFreeAudioGateway
            }
        handler(address, try await connect(address, to: counterpart))
    }

    /// Returns when the device is in reach.
    func page(
        _ address: BluetoothAddress, failure: String = "br-connection-page-timeout"
    ) async throws(BusError) {
        guard paging[address] == nil else { throw bluezError("InProgress", "In Progress") }
        paging[address] = false
        defer { paging[address] = nil }
        let end = ControlLoop.now.advanced(by: pageTimeout)
        while unreachable.contains(address) {
            if paging[address] == true { throw bluezError("Failed", "br-connection-canceled") }
            guard ControlLoop.now < end else { throw bluezError("Failed", failure) }
            await ControlLoop.shared.sleep(for: .milliseconds(5))
        }
    }

    private func disconnectRequested(_ path: String) async throws(BusError) {
        guard let address = deviceAddress(of: path) else { throw bluezError("DoesNotExist", "Does Not Exist") }
        if paging[address] != nil {
            paging[address] = true
            return
        }
        guard objects[path]?[FakeBlueZNames.device]?["Connected"]?.boolValue == true else {
            throw bluezError("NotConnected", "Not Connected")
        }
        await requestDisconnection(address)
    }
}
