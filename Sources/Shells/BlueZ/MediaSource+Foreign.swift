package import BluetoothTypes
import ControlLoop
import DBus
import Logging

// Streams to headsets that belong to another program's endpoint.
extension MediaSource {
    /// Whether another program streams music to this headset.
    package func isForeignPlaying(_ address: BluetoothAddress) -> Bool {
        foreigners.values.contains { $0.address == address && $0.isCertain && $0.isPlaying }
    }

    /// Whether another program has this headset's stream.
    package func isForeign(_ address: BluetoothAddress) -> Bool { foreigner(of: address) != nil }

    /// The program that has this headset's stream; nil if none has, or an unknown one.
    package func foreignOwner(of address: BluetoothAddress) -> BusPeer? { foreigner(of: address)?.owner }

    func foreigner(of address: BluetoothAddress) -> Foreigner? {
        let known = foreigners.filter { $0.value.address == address && $0.value.isCertain }
        return known.min { $0.key < $1.key }?.value
    }

    func updateForeigner(_ path: String, _ properties: [String: Value]) {
        // The other direction, from a telephone to this box, concerns no headset.
        guard properties["UUID"]?.stringValue.map({ ServiceUUID(text: $0) }) ?? Self.uuid == Self.uuid else { return }
        let isPlaying = TransportState(properties) == .active
        guard var foreigner = foreigners[path] else { return appeared(path, properties, isPlaying) }
        guard foreigner.isPlaying != isPlaying else { return }
        foreigner.isPlaying = isPlaying
        foreigners[path] = foreigner
        if foreigner.isReported { emit(.foreignPlaying(foreigner.address, isPlaying)) }
    }

    private func appeared(_ path: String, _ properties: [String: Value], _ isPlaying: Bool) {
        guard let owner, let address = Self.device(of: path, properties) else { return }
        foreigners[path] = Foreigner(address: address, isPlaying: isPlaying)
        Task { @ControlPlane [weak self, bus] in
            // bluetoothd announces an object before it configures its endpoint: if `SetConfiguration` comes for us, it
            // precedes the answer to any later call.
            _ = try? await bus.call(
                owner, path, BlueZNames.properties, "GetAll", [.string(BlueZNames.mediaTransport)],
                timeout: Self.callTimeout)
            guard self?.foreigners[path]?.address == address else { return }
            self?.foreigners[path]?.isCertain = true
            let peer = await BusPeer.searchMediaOwner(bus)
            self?.report(path, address, peer)
        }
    }

    private func report(_ path: String, _ address: BluetoothAddress, _ peer: BusPeer?) {
        guard var foreigner = foreigners[path], foreigner.address == address, !foreigner.isReported else { return }
        foreigner.owner = peer
        foreigner.isReported = true
        foreigners[path] = foreigner
        if let peer {
            logger.notice("the A2DP stream of \(describe(address)) belongs to \(peer): \(peer.mediaRemedy)")
        } else {
            logger.notice(
                "the A2DP stream of \(describe(address)) belongs to another program: look for it with `busctl list`")
        }
        emit(.foreign(address, owner: peer))
        if foreigner.isPlaying { emit(.foreignPlaying(address, true)) }
    }

    func dropForeigner(_ path: String) {
        guard let foreigner = foreigners.removeValue(forKey: path), foreigner.isReported else { return }
        if foreigner.isPlaying { emit(.foreignPlaying(foreigner.address, false)) }
        guard !foreigners.values.contains(where: { $0.address == foreigner.address && $0.isReported }) else { return }
        emit(.foreignGone(foreigner.address))
    }
}
