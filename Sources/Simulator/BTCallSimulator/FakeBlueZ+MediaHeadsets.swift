package import BluetoothTypes
import CBTCall
package import DBus
import Glibc

/// Actions of headsets with A2DP and AVRCP.
extension FakeBlueZ {
    private static let sourceUUID = ServiceUUID.audioSource
    /// The real one's timeout for an endpoint.
    private static let endpointTimeout = Duration.seconds(3)

    /// Connects A2DP from a headset; bluetoothd lets the endpoint registered first choose from the headset's capabilities.
    ///
    /// - Parameters:
    ///   - capabilities: SBC capabilities; any bytes, for headsets that send nonsense.
    ///   - volume: nil for a headset without absolute volume.
    ///   - delay: in tenths of a millisecond; nil for a headset that does not report it.
    /// - Returns: the object path of the transport.
    /// - Throws: `org.bluez.Error.NotAvailable` when nobody registered an endpoint; the program's error.
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

    /// Connects A2DP from a headset that has chosen the configuration itself.
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
        // The object is present and signalled before its endpoint is called.
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

    /// Starts the stream from the headset.
    package func startMedia(of address: BluetoothAddress) {
        for transport in mediaTransports(of: address) where mediaState(transport) == "idle" {
            setMediaState("pending", transport)
        }
    }

    /// Suspends the stream from the headset: the program that acquired it loses it.
    package func suspendMedia(of address: BluetoothAddress) {
        for transport in mediaTransports(of: address) { revoke(transport) }
    }

    /// Sets the volume by the headset's keys, 0…127; the first time reports that it has absolute volume.
    package func setMediaVolume(_ volume: UInt16, of address: BluetoothAddress) {
        tellMedia("Volume", .uint16(volume), address)
    }

    /// - Parameter delay: in tenths of a millisecond.
    package func reportMediaDelay(_ delay: UInt16, of address: BluetoothAddress) {
        tellMedia("Delay", .uint16(delay), address)
    }

    /// Sets any property of the headset's streams, of any type.
    package func tellMedia(_ property: String, _ value: Value, _ address: BluetoothAddress) {
        for transport in mediaTransports(of: address) {
            let isNew = objects[transport.path]?[FakeBlueZNames.mediaTransport]?[property] == nil
            objects[transport.path]?[FakeBlueZNames.mediaTransport]?[property] = value
            emit(
                path: transport.path, interface: FakeBlueZNames.properties, member: "PropertiesChanged",
                [.string(FakeBlueZNames.mediaTransport), .vardict([property: value]), .strings([])])
            // An optional property that appears can be read and set from now on. The real one does not signal the object
            // again for it.
            if isNew { export(transport.path, [FakeBlueZNames.mediaTransport]) }
        }
    }

    /// Presses a button of the headset: bluetoothd calls the player registered first, if it declares the capability.
    ///
    /// - Parameter method: a method of `org.mpris.MediaPlayer2.Player`.
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

    /// Disconnects the headset's A2DP; everything else stays.
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

    /// Packets received by the headset since the last call, each one RTP packet.
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

    /// The headset's end of the stream, for a custom receiver; the fake closes it with the transport.
    package func mediaDescriptor(of address: BluetoothAddress) -> PassedDescriptor? {
        mediaTransports(of: address).first?.headset
    }

    /// `idle`, `pending` or `active`; nil without A2DP.
    package func mediaState(of address: BluetoothAddress) -> String? {
        mediaTransports(of: address).first.flatMap { mediaState($0) }
    }

    /// The unique bus name of the program that has acquired the headset's stream.
    package func mediaOwner(of address: BluetoothAddress) -> String? {
        mediaTransports(of: address).first?.owner
    }

    package func mediaVolume(of address: BluetoothAddress) -> UInt16? {
        mediaTransports(of: address).first
            .flatMap { objects[$0.path]?[FakeBlueZNames.mediaTransport]?["Volume"]?.uint16Value }
    }

    private func adapterPath(ofDevice device: String) -> String? {
        objects[device]?[FakeBlueZNames.device]?["Adapter"]?.objectPathValue
    }

    private func mediaEnds(
        _ address: BluetoothAddress
    ) throws(BusError) -> (bus: BusConnection, device: String, endpoint: FakeMedia.Endpoint) {
        guard let bus, let device = devicePath(address) else { throw bluezError("DoesNotExist", "no such device") }
        let adapter = adapterPath(ofDevice: device)
        // One stream per headset, like the real one.
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
}
