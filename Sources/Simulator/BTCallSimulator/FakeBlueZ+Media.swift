import BluetoothTypes
import ControlLoop
import DBus

/// `org.bluez.Media1` and `MediaTransport1`, as bluetoothd offers them to programs on the bus.
extension FakeBlueZ {
    package enum MediaSupport: Sendable {
        case all
        /// `--noplugin=a2dp`: the interface exists but accepts no endpoints.
        case withoutEndpoints
        /// `--noplugin=avrcp`
        case withoutPlayers
        /// No `org.bluez.Media1` at all.
        case none
    }

    // MARK: Actions of bluetoothd

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
        // Signalled after the answer.
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
        revoke(transport)
    }

    /// Sets the volume for a program: the headset adopts it.
    func volumeAsked(_ value: Value, _ path: String) throws(BusError) {
        guard let volume = value.uint16Value, volume <= 127 else {
            throw bluezError("InvalidArguments", "Invalid arguments in method call")
        }
        set("Volume", value, of: FakeBlueZNames.mediaTransport, at: path)
    }

    func revoke(_ transport: FakeMedia.Transport) {
        transport.owner = nil
        transport.attempt += 1
        transport.answerStart(false)
        setMediaState("idle", transport)
    }

    func setMediaState(_ state: String, _ transport: FakeMedia.Transport) {
        set("State", .string(state), of: FakeBlueZNames.mediaTransport, at: transport.path)
    }

    func mediaState(_ transport: FakeMedia.Transport) -> String? {
        objects[transport.path]?[FakeBlueZNames.mediaTransport]?["State"]?.stringValue
    }

    func mediaTransports(of address: BluetoothAddress) -> [FakeMedia.Transport] {
        media.transports.values.filter { $0.address == address }.sorted { $0.path < $1.path }
    }

    // MARK: Removal

    func removeMedia(_ path: String) {
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

    /// Handles a program that has left the bus.
    func forgetMedia(of owner: String) {
        for endpoint in media.endpoints where endpoint.owner == owner { forgetEndpoint(endpoint) }
        forgetPlayers { $0.owner == owner }
        for transport in media.transports.values where transport.owner == owner { revoke(transport) }
    }

    /// Handles an object that has left the tree.
    func forgetMedia(at path: String) {
        if let transport = media.transports.removeValue(forKey: path) { transport.close() }
        for endpoint in media.endpoints where endpoint.adapter == path { forgetEndpoint(endpoint) }
        forgetPlayers { $0.adapter == path }
    }

    /// Handles an orderly stop of bluetoothd.
    func releaseMedia() {
        for address in Set(media.transports.values.map(\.address)).sorted() { dropMedia(of: address) }
        for endpoint in media.endpoints {
            bus?.post(endpoint.owner, endpoint.path, FakeBlueZNames.mediaEndpoint, "Release")
        }
        for player in media.players { bus?.post(player.owner, player.path, FakeBlueZNames.player, "Release") }
    }

    /// Handles a bluetoothd that has gone.
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
