package import BluetoothTypes
import CBTCall
import ControlLoop
package import DBus
import Glibc

/// `org.bluez.Media1`, `MediaTransport1`, and what headsets do with A2DP and AVRCP.
extension FakeBlueZ {
    package enum MediaSupport: Sendable {
        case all
        /// `--noplugin=a2dp`: the interface is there and takes no endpoints.
        case withoutEndpoints
        /// `--noplugin=avrcp`
        case withoutPlayers
        /// No `org.bluez.Media1` at all.
        case none
    }

    private static let sourceUUID = ServiceUUID.audioSource
    /// As long as the real one waits for an endpoint.
    private static let endpointTimeout = Duration.seconds(3)

    // MARK: What headsets do

    /// A headset connects A2DP, and bluetoothd has the endpoint that was registered first choose from what the headset
    /// offers.
    ///
    /// - Parameters:
    ///   - capabilities: of SBC; any bytes, for headsets that send nonsense.
    ///   - volume: nil for a headset without absolute volume.
    ///   - delay: in tenths of a millisecond; nil for a headset that does not report it.
    /// - Returns: the object path of the transport.
    /// - Throws: `org.bluez.Error.NotAvailable` if nobody registered an endpoint; what the program answers.
    @discardableResult
    package func configureMedia(
        of address: BluetoothAddress, capabilities: [UInt8] = [0xFF, 0xFF, 2, 53], volume: UInt16? = nil,
        delay: UInt16? = nil
    ) async throws(BusError) -> String {
        let (bus, device, endpoint) = try mediaEnds(address)
        setConnected(true, address)
        showRemoteEndpoint(device, capabilities)
        let answer = try await bus.call(
            endpoint.owner, endpoint.path, FakeBlueZNames.mediaEndpoint, "SelectConfiguration",
            [.bytes(capabilities)], timeout: Self.endpointTimeout)
        guard let configuration = answer.first?.bytesValue else {
            throw bluezError("Failed", "SelectConfiguration gave no bytes")
        }
        return try await configureMedia(of: address, configuration: configuration, volume: volume, delay: delay)
    }

    /// A headset connects A2DP and has chosen by itself.
    ///
    /// - Parameter configuration: any bytes.
    @discardableResult
    package func configureMedia(
        of address: BluetoothAddress, configuration: [UInt8], volume: UInt16? = nil, delay: UInt16? = nil
    ) async throws(BusError) -> String {
        let (bus, device, endpoint) = try mediaEnds(address)
        setConnected(true, address)
        let path = "\(device)/sep1/fd\(media.nextTransport)"
        media.nextTransport += 1
        let transport = try FakeMedia.Transport(path: path, address: address, endpoint: endpoint)
        var properties: [String: Value] = [
            "Device": .objectPath(device), "UUID": .string(endpoint.uuid.text), "Codec": .byte(endpoint.codec),
            "Configuration": .bytes(configuration), "State": "idle",
        ]
        if let volume { properties["Volume"] = .uint16(volume) }
        if let delay { properties["Delay"] = .uint16(delay) }
        media.transports[path] = transport
        // The object is there, and told of, before its endpoint hears of it.
        add(path, [FakeBlueZNames.mediaTransport: properties])
        do throws(BusError) {
            _ = try await bus.call(
                endpoint.owner, endpoint.path, FakeBlueZNames.mediaEndpoint, "SetConfiguration",
                [.objectPath(path), .vardict(properties)], timeout: Self.endpointTimeout)
        } catch {
            removeMedia(path)
            throw error
        }
        return path
    }

    /// The headset starts the stream by itself.
    package func startMedia(of address: BluetoothAddress) {
        for transport in mediaTransports(of: address) where mediaState(transport) == "idle" {
            setMediaState("pending", transport)
        }
    }

    /// The headset suspends the stream: whoever has acquired it has it no more.
    package func suspendMedia(of address: BluetoothAddress) {
        for transport in mediaTransports(of: address) { takeBack(transport) }
    }

    /// The headset's volume keys, 0…127; the first time is when it tells that it has absolute volume.
    package func setMediaVolume(_ volume: UInt16, of address: BluetoothAddress) {
        tellMedia("Volume", .uint16(volume), address)
    }

    /// - Parameter delay: in tenths of a millisecond.
    package func reportMediaDelay(_ delay: UInt16, of address: BluetoothAddress) {
        tellMedia("Delay", .uint16(delay), address)
    }

    /// Any property of the headset's streams, of any type.
    package func tellMedia(_ property: String, _ value: Value, _ address: BluetoothAddress) {
        for transport in mediaTransports(of: address) {
            let isNew = objects[transport.path]?[FakeBlueZNames.mediaTransport]?[property] == nil
            objects[transport.path]?[FakeBlueZNames.mediaTransport]?[property] = value
            emit(
                path: transport.path, interface: FakeBlueZNames.properties, member: "PropertiesChanged",
                [.string(FakeBlueZNames.mediaTransport), .vardict([property: value]), .strings([])])
            // An optional property that appears can be read and set from then on. The real one does not tell of the object
            // again for it.
            if isNew { export(transport.path, [FakeBlueZNames.mediaTransport]) }
        }
    }

    /// The headset presses a button: bluetoothd calls the player that was registered first, if that says that it can.
    ///
    /// - Parameter method: of `org.mpris.MediaPlayer2.Player`.
    /// - Returns: whether a player was called.
    @discardableResult
    package func pressMedia(_ method: String, of address: BluetoothAddress) -> Bool {
        guard let bus, let device = devicePath(address), let adapter = adapterPath(ofDevice: device),
            let player = media.players.first(where: { $0.adapter == adapter })
        else { return false }
        let needed: [String] =
            switch method {
            case "Play": ["CanControl", "CanPlay"]
            case "Pause": ["CanControl", "CanPause"]
            case "Next": ["CanControl", "CanGoNext"]
            case "Previous": ["CanControl", "CanGoPrevious"]
            default: ["CanControl"]
            }
        guard needed.allSatisfy({ player.properties[$0]?.boolValue == true }) else { return false }
        bus.post(player.owner, player.path, FakeBlueZNames.player, method)
        return true
    }

    /// A2DP of the headset is disconnected; everything else stays.
    package func dropMedia(of address: BluetoothAddress) {
        for transport in mediaTransports(of: address) {
            bus?.post(
                transport.endpoint.owner, transport.endpoint.path, FakeBlueZNames.mediaEndpoint, "ClearConfiguration",
                [.objectPath(transport.path)])
            removeMedia(transport.path)
        }
    }

    /// Ends the silence of `FakeMedia.StartAnswer.nothing`.
    package func answerStarts(_ accepted: Bool) {
        for transport in media.transports.values.sorted(by: { $0.path < $1.path }) { transport.answerStart(accepted) }
    }

    /// What has come to the headset since the last time, one packet of RTP each.
    package func receiveMedia(of address: BluetoothAddress) -> [[UInt8]] {
        guard let transport = mediaTransports(of: address).first else { return [] }
        var packets: [[UInt8]] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = recv(transport.headset.descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return packets }
            packets.append(Array(buffer[..<count]))
        }
    }

    /// The headset's end of the stream, for a receiver of one's own; the fake closes it with the transport.
    package func mediaDescriptor(of address: BluetoothAddress) -> PassedDescriptor? {
        mediaTransports(of: address).first?.headset
    }

    /// `idle`, `pending` or `active`; nil without A2DP.
    package func mediaState(of address: BluetoothAddress) -> String? {
        mediaTransports(of: address).first.flatMap { mediaState($0) }
    }

    /// Who has acquired the headset's stream, by unique bus name.
    package func mediaOwner(of address: BluetoothAddress) -> String? {
        mediaTransports(of: address).first?.owner
    }

    package func mediaVolume(of address: BluetoothAddress) -> UInt16? {
        mediaTransports(of: address).first
            .flatMap { objects[$0.path]?[FakeBlueZNames.mediaTransport]?["Volume"]?.uint16Value }
    }

    // MARK: What bluetoothd does

    func publishMedia() {
        for path in objects.keys.sorted() where objects[path]?[FakeBlueZNames.adapter] != nil {
            let isThere = objects[path]?[FakeBlueZNames.media] != nil
            switch mediaSupport {
            case .all, .withoutEndpoints, .withoutPlayers:
                if !isThere { add(path, [FakeBlueZNames.media: [:]]) }
            case .none:
                guard isThere else { continue }
                objects[path]?[FakeBlueZNames.media] = nil
                bus?.unexport(path: path, interface: FakeBlueZNames.media)
            }
        }
    }

    func mediaMethods(_ adapter: String) -> [ExportedInterface.Method] {
        [
            .init("RegisterEndpoint", in: [("endpoint", "o"), ("properties", "a{sv}")]) {
                [weak self] call throws(BusError) in
                try self?.registerEndpoint(call, adapter)
                return []
            },
            .init("UnregisterEndpoint", in: [("endpoint", "o")]) { [weak self] call throws(BusError) in
                guard let self else { return [] }
                let path = call.arguments.first?.objectPathValue
                let found = media.endpoints.filter {
                    $0.owner == call.sender && $0.path == path && $0.adapter == adapter
                }
                guard !found.isEmpty else { throw bluezError("DoesNotExist", "Does Not Exist") }
                for endpoint in found { forgetEndpoint(endpoint) }
                return []
            },
            .init("RegisterPlayer", in: [("player", "o"), ("properties", "a{sv}")]) {
                [weak self] call throws(BusError) in
                try self?.registerPlayer(call, adapter)
                return []
            },
            .init("UnregisterPlayer", in: [("player", "o")]) { [weak self] call throws(BusError) in
                guard let self else { return [] }
                let path = call.arguments.first?.objectPathValue
                let found = media.players.filter { $0.owner == call.sender && $0.path == path && $0.adapter == adapter }
                guard !found.isEmpty else { throw bluezError("DoesNotExist", "Does Not Exist") }
                forgetPlayers { $0.owner == call.sender && $0.path == path && $0.adapter == adapter }
                return []
            },
        ]
    }

    func mediaTransportMethods(_ path: String) -> [ExportedInterface.Method] {
        let outcome = [(name: "fd", signature: "h"), (name: "mtu_r", signature: "q"), (name: "mtu_w", signature: "q")]
        return [
            .init("Acquire", out: outcome) { [weak self] call throws(BusError) in
                guard let self else { throw .failed("gone") }
                return try await acquire(call, path)
            },
            .init("TryAcquire", out: outcome) { [weak self] call throws(BusError) in
                guard let self else { throw .failed("gone") }
                return try await acquire(call, path)
            },
            .init("Release") { [weak self] call throws(BusError) in
                try await self?.release(call, path)
                return []
            },
        ]
    }

    private func registerEndpoint(_ call: MethodCall, _ adapter: String) throws(BusError) {
        if let error = media.endpointError { throw error }
        guard call.arguments.count == 2, let path = call.arguments[0].objectPathValue,
            let options = call.arguments[1].vardictValue
        else { throw bluezError("InvalidArguments", "Invalid arguments in method call") }
        guard !media.endpoints.contains(where: { $0.owner == call.sender && $0.path == path && $0.adapter == adapter })
        else { throw bluezError("AlreadyExists", "Already Exists") }
        guard let uuid = options["UUID"]?.stringValue, let codec = options["Codec"]?.byteValue,
            let capabilities = options["Capabilities"]?.bytesValue,
            !media.refusesDelayReporting || options["DelayReporting"] == nil
        else { throw bluezError("InvalidArguments", "Invalid arguments in method call") }
        guard mediaSupport != .withoutEndpoints else { throw bluezError("NotSupported", "Operation is not supported") }
        media.endpoints.append(
            FakeMedia.Endpoint(
                owner: call.sender, path: path, adapter: adapter, uuid: ServiceUUID(text: uuid), codec: codec,
                capabilities: capabilities, reportsDelay: options["DelayReporting"]?.boolValue ?? false))
        watch(call.sender)
    }

    private func registerPlayer(_ call: MethodCall, _ adapter: String) throws(BusError) {
        if let error = media.playerError { throw error }
        guard call.arguments.count == 2, let path = call.arguments[0].objectPathValue,
            let properties = call.arguments[1].vardictValue
        else { throw bluezError("InvalidArguments", "Invalid arguments in method call") }
        guard !media.players.contains(where: { $0.owner == call.sender && $0.path == path && $0.adapter == adapter })
        else { throw bluezError("AlreadyExists", "Already Exists") }
        guard mediaSupport != .withoutPlayers else { throw bluezError("NotSupported", "Operation is not supported") }
        media.players.append(
            FakeMedia.Player(owner: call.sender, path: path, adapter: adapter, properties: properties))
        watch(call.sender)
        media.playerSignals["\(call.sender)\(path)"] = bus?.subscribe(
            sender: call.sender, path: path, interface: FakeBlueZNames.properties, member: "PropertiesChanged",
            argument0: FakeBlueZNames.player
        ) { [weak self] signal in
            guard let self, signal.arguments.count == 3, let changed = signal.arguments[1].vardictValue,
                let index = media.players.firstIndex(where: { $0.owner == signal.sender && $0.path == signal.path })
            else { return }
            media.players[index].properties.merge(changed) { $1 }
        }
    }

    private func acquire(_ call: MethodCall, _ path: String) async throws(BusError) -> [Value] {
        media.requests.append(call.member)
        guard let transport = media.transports[path] else { throw .unknownObject("there is no object \(path)") }
        guard transport.owner == nil, !transport.isReleasing else {
            throw bluezError("NotAuthorized", "Operation Not Authorized")
        }
        let isRunning = mediaState(transport) == "pending"
        guard call.member == "Acquire" || isRunning else {
            throw bluezError("NotAvailable", "Operation currently not available")
        }
        transport.owner = call.sender
        transport.attempt += 1
        let attempt = transport.attempt
        watch(call.sender)
        var isAccepted = true
        if !isRunning {
            switch media.startAnswer {
            case .accepts: break
            case .refuses: isAccepted = false
            case .nothing: isAccepted = await withCheckedContinuation { transport.starting = $0 }
            }
        }
        guard transport.attempt == attempt else { throw bluezError("Failed", "Operation canceled") }
        guard isAccepted else {
            transport.owner = nil
            throw bluezError("Failed", "Input/output error")
        }
        // Told after the answer.
        ControlLoop.shared.perform { [weak self] in
            if transport.attempt == attempt, transport.owner != nil { self?.setMediaState("active", transport) }
        }
        return [.unixDescriptor(transport.socket), .uint16(media.readMTU), .uint16(media.writeMTU)]
    }

    private func release(_ call: MethodCall, _ path: String) async throws(BusError) {
        media.requests.append(call.member)
        guard let transport = media.transports[path] else { throw .unknownObject("there is no object \(path)") }
        guard transport.owner == call.sender else { throw bluezError("NotAuthorized", "Operation Not Authorized") }
        guard !transport.isReleasing else { throw bluezError("InProgress", "In Progress") }
        transport.attempt += 1
        transport.answerStart(false)
        if let onRelease = media.onRelease {
            transport.isReleasing = true
            await onRelease()
            transport.isReleasing = false
        }
        takeBack(transport)
    }

    /// The volume is set by a program: the headset takes it over.
    func volumeAsked(_ value: Value, _ path: String) throws(BusError) {
        guard let volume = value.uint16Value, volume <= 127 else {
            throw bluezError("InvalidArguments", "Invalid arguments in method call")
        }
        set("Volume", value, of: FakeBlueZNames.mediaTransport, at: path)
    }

    private func takeBack(_ transport: FakeMedia.Transport) {
        transport.owner = nil
        transport.attempt += 1
        transport.answerStart(false)
        setMediaState("idle", transport)
    }

    private func setMediaState(_ state: String, _ transport: FakeMedia.Transport) {
        set("State", .string(state), of: FakeBlueZNames.mediaTransport, at: transport.path)
    }

    private func mediaState(_ transport: FakeMedia.Transport) -> String? {
        objects[transport.path]?[FakeBlueZNames.mediaTransport]?["State"]?.stringValue
    }

    private func mediaTransports(of address: BluetoothAddress) -> [FakeMedia.Transport] {
        media.transports.values.filter { $0.address == address }.sorted { $0.path < $1.path }
    }

    private func adapterPath(ofDevice device: String) -> String? {
        objects[device]?[FakeBlueZNames.device]?["Adapter"]?.objectPathValue
    }

    private func mediaEnds(
        _ address: BluetoothAddress
    ) throws(BusError) -> (bus: BusConnection, device: String, endpoint: FakeMedia.Endpoint) {
        guard let bus, let device = devicePath(address) else { throw bluezError("DoesNotExist", "no such device") }
        let adapter = adapterPath(ofDevice: device)
        // One stream with each, as with the real one.
        let busy = media.transports.values.map(\.endpoint)
        guard
            let endpoint = media.endpoints.first(where: {
                $0.adapter == adapter && $0.uuid == Self.sourceUUID && $0.codec == 0 && !busy.contains($0)
            })
        else { throw bluezError("NotAvailable", "br-connection-profile-unavailable") }
        return (bus, device, endpoint)
    }

    private func showRemoteEndpoint(_ device: String, _ capabilities: [UInt8]) {
        guard media.showsRemoteEndpoints else { return }
        let path = "\(device)/sep1"
        if objects[path] != nil {
            objects[path] = nil
            bus?.unexport(path: path)
        }
        add(
            path,
            [
                FakeBlueZNames.mediaEndpoint: [
                    "Device": .objectPath(device), "UUID": .string(ServiceUUID.audioSink.text), "Codec": .byte(0),
                    "Capabilities": .bytes(capabilities),
                ]
            ])
    }

    // MARK: What goes away

    private func removeMedia(_ path: String) {
        guard let transport = media.transports.removeValue(forKey: path) else { return }
        transport.close()
        objects[path] = nil
        bus?.unexport(path: path)
    }

    private func forgetEndpoint(_ endpoint: FakeMedia.Endpoint) {
        media.endpoints.removeAll { $0 == endpoint }
        for transport in media.transports.values.sorted(by: { $0.path < $1.path }) where transport.endpoint == endpoint
        {
            removeMedia(transport.path)
        }
    }

    private func forgetPlayers(where isGone: (FakeMedia.Player) -> Bool) {
        for player in media.players where isGone(player) {
            media.playerSignals.removeValue(forKey: "\(player.owner)\(player.path)")?.cancel()
        }
        media.players.removeAll(where: isGone)
    }

    /// A program has left the bus.
    func forgetMedia(of owner: String) {
        for endpoint in media.endpoints where endpoint.owner == owner { forgetEndpoint(endpoint) }
        forgetPlayers { $0.owner == owner }
        for transport in media.transports.values where transport.owner == owner { takeBack(transport) }
    }

    /// An object has left the tree.
    func forgetMedia(at path: String) {
        if let transport = media.transports.removeValue(forKey: path) { transport.close() }
        for endpoint in media.endpoints where endpoint.adapter == path { forgetEndpoint(endpoint) }
        forgetPlayers { $0.adapter == path }
    }

    /// bluetoothd is being stopped properly.
    func releaseMedia() {
        for address in Set(media.transports.values.map(\.address)).sorted() { dropMedia(of: address) }
        for endpoint in media.endpoints {
            bus?.post(endpoint.owner, endpoint.path, FakeBlueZNames.mediaEndpoint, "Release")
        }
        for player in media.players { bus?.post(player.owner, player.path, FakeBlueZNames.player, "Release") }
    }

    /// bluetoothd has gone.
    func forgetMedia() {
        for transport in media.transports.values.sorted(by: { $0.path < $1.path }) {
            transport.close()
            objects[transport.path] = nil
        }
        for path in objects.keys.sorted() where objects[path]?[FakeBlueZNames.mediaEndpoint] != nil {
            objects[path] = nil
        }
        media.transports = [:]
        media.endpoints = []
        forgetPlayers { _ in true }
    }
}
