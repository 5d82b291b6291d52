import BluetoothTypes
import DBus
import Logging

// Methods that bluetoothd calls (`org.bluez.MediaEndpoint1`).
extension MediaSource {
    static var uuid: ServiceUUID { .audioSource }
    /// SBC (Assigned Numbers §6.5.1).
    static var codec: UInt8 { 0 }

    func endpointInterface(_ key: RegistrationKey) -> ExportedInterface {
        ExportedInterface(
            BlueZNames.mediaEndpoint,
            methods: [
                .init("SelectConfiguration", in: [("capabilities", "ay")], out: [("configuration", "ay")]) {
                    [weak self] call throws(BusError) in
                    guard let self else { throw .failed("btcall is leaving") }
                    return [.bytes(try select(call, key.adapter))]
                },
                .init("SetConfiguration", in: [("transport", "o"), ("properties", "a{sv}")]) {
                    [weak self] call throws(BusError) in
                    try self?.configure(call)
                    return []
                },
                .init("ClearConfiguration", in: [("transport", "o")]) { [weak self] call throws(BusError) in
                    try self?.checkSender(call)
                    if let path = call.arguments.first?.objectPathValue { self?.cleared(path) }
                    return []
                },
                .init("Release") { [weak self] call throws(BusError) in
                    try self?.checkSender(call)
                    self?.released(key)
                    return []
                },
            ])
    }

    func checkSender(_ call: MethodCall) throws(BusError) {
        guard call.sender == owner else {
            throw .accessDenied("only the owner of org.bluez may call \(call.member), not \(call.sender)")
        }
    }

    private func select(_ call: MethodCall, _ adapter: String) throws(BusError) -> [UInt8] {
        try checkSender(call)
        let bytes = call.arguments.first?.bytesValue ?? []
        do throws(SBCError) {
            let configuration = try quality.select(bytes)
            logger.debug("offered \(hex(bytes)), \(configuration.mode.rawValue) at \(configuration.rate) Hz is chosen")
            return configuration.bytes
        } catch {
            let device = candidates(offering: bytes, on: adapter)
            logger.warning("\(device) offers SBC that is not usable for A2DP: \(error) (\(hex(bytes)))")
            throw invalid("\(error)")
        }
    }

    private func configure(_ call: MethodCall) throws(BusError) {
        try checkSender(call)
        guard let path = call.arguments.first?.objectPathValue, let properties = call.arguments.last?.vardictValue
        else { throw invalid("SetConfiguration takes a transport and properties") }
        foreigners[path] = nil
        discarded.insert(path)
        guard let address = Self.device(of: path, properties) else {
            logger.warning("bluetoothd has set up an A2DP stream that names no device: \(path)")
            throw invalid("the transport names no device")
        }
        guard properties["Codec"]?.byteValue ?? Self.codec == Self.codec else {
            logger.warning("\(describe(address)) has set up A2DP with another codec than SBC")
            throw invalid("the codec is not SBC")
        }
        let bytes = properties["Configuration"]?.bytesValue ?? []
        let configuration: SBCConfiguration
        do throws(SBCError) {
            configuration = try SBCConfiguration(bytes)
        } catch {
            logger.warning(
                "\(describe(address)) has set up A2DP with an unusable configuration: \(error) (\(hex(bytes)))")
            throw invalid("\(error)")
        }
        discarded.remove(path)
        let isKnown = transports.values.contains { $0.address == address }
        transports[path] = Transport(
            path: path, address: address, state: TransportState(properties), volume: Self.volume(properties),
            delay: Self.delay(properties), configuration: configuration, bitpool: configuration.bitpool(quality))
        logger.info(
            """
            \(describe(address)) has A2DP: SBC \(configuration.mode.rawValue), \(configuration.rate) Hz, bitpool \
            \(configuration.bitpool(quality))
            """)
        if !isKnown { emit(.configured(address)) }
        let parts = path.split(separator: "/").prefix(3)
        refreshSpares("/" + parts.joined(separator: "/"))
        // With the real bluetoothd the object exists already; the tree has its later changes.
        if mirror.objects[path]?[BlueZNames.mediaTransport] == nil {
            let interfaces = Value.dictionary(
                "s", "a{sv}", [DictionaryEntry(.string(BlueZNames.mediaTransport), call.arguments[1])])
            apply(.added(path: path, interfaces: interfaces))
        } else {
            refreshTransports(.gone)
        }
    }

    private func cleared(_ path: String) {
        guard transports[path] != nil else { return }
        // The object leaves the tree next.
        if mirror.objects[path]?[BlueZNames.mediaTransport] != nil { discarded.insert(path) }
        drop(path, .gone)
    }

    func invalid(_ message: String) -> BusError {
        BusError(name: BlueZNames.errorPrefix + "InvalidArguments", message: message)
    }

    /// Names the devices that may have these capabilities, because bluetoothd does not say which one: those of the adapter
    /// that offer the same bytes, as far as bluetoothd lists offers, otherwise those that are connected without a stream.
    private func candidates(offering bytes: [UInt8], on adapter: String) -> String {
        var offering: Set<BluetoothAddress> = []
        for (path, interfaces) in mirror.objects {
            guard path.hasPrefix(adapter + "/"), let endpoint = interfaces[BlueZNames.mediaEndpoint],
                endpoint["Capabilities"]?.bytesValue == bytes, endpoint["Codec"]?.byteValue == Self.codec,
                let address = Self.device(of: path, endpoint)
            else { continue }
            offering.insert(address)
        }
        if offering.isEmpty {
            let configured = Set(transports.values.map(\.address))
            offering = Set(
                registry.devices
                    .filter {
                        $0.adapterPath == adapter && $0.connected && $0.uuids.contains(.audioSink)
                            && !configured.contains($0.address)
                    }
                    .map(\.address))
        }
        guard !offering.isEmpty else { return "a device on \(Self.controller(adapter))" }
        return offering.sorted().map { describe($0) }.joined(separator: " or ")
    }

    /// The device that an object path or its properties belong to.
    static func device(of path: String, _ properties: [String: Value]) -> BluetoothAddress? {
        if let device = properties["Device"]?.objectPathValue, let address = BluetoothAddress(devicePath: device) {
            return address
        }
        guard let component = path.split(separator: "/").first(where: { $0.hasPrefix("dev_") }) else { return nil }
        return BluetoothAddress(devicePath: String(component))
    }

    static func volume(_ properties: [String: Value]) -> Int? {
        properties["Volume"]?.uint16Value.flatMap { $0 <= 127 ? Int($0) : nil }
    }

    /// bluetoothd uses tenths of a millisecond.
    static func delay(_ properties: [String: Value]) -> Duration? {
        properties["Delay"]?.uint16Value.map { .microseconds(Int($0) * 100) }
    }

    /// In the form that `btcall-lab decode --sbc-capabilities` reads.
    private func hex(_ bytes: [UInt8]) -> String {
        guard !bytes.isEmpty else { return "no bytes" }
        return bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            + (bytes.count > 8 ? " …" : "")
    }
}
