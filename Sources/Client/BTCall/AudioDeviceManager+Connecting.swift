import BTCallAPI
import BluetoothTypes

extension AudioDeviceManager {
    /// Longer than bluetoothd's page timeout, so that bluetoothd answers first.
    private static let connectTimeout = Duration.seconds(60)

    /// Connects a paired headset, as its owner would at the headset; returns once bluetoothd has connected it. A headset
    /// that is already connected for calls is left as it is.
    ///
    /// - Parameter headset: one headset, by its address.
    /// - Throws: `.invalidArgument` when `headset` is not one headset; `.unavailable` when it is not paired, is off or out
    ///   of reach; `.wrongState` while the daemon is not active.
    public func connect(_ headset: DeviceChoice) async throws(BridgeError) {
        try await request(BTCallName.Headset.connect, of: headset, timeout: Self.connectTimeout)
    }

    /// Disconnects a headset. It stays paired, and btcalld does not reconnect it until somebody connects it.
    ///
    /// - Throws: as ``connect(_:)``; `.unavailable` when it is not connected.
    public func disconnect(_ headset: DeviceChoice) async throws(BridgeError) {
        try await request(BTCallName.Headset.disconnect, of: headset, timeout: .seconds(25))
    }

    private func request(
        _ member: String, of headset: DeviceChoice, timeout: Duration
    ) async throws(BridgeError) {
        guard let address = headset.word.address else {
            throw BridgeError(.invalidArgument, "\(headset) is not one headset; accepted: bluetooth:ADDRESS")
        }
        do throws(BridgeError) {
            try await connection.request(
                BTCallPath.headset(address), BTCallName.Interface.headset, member, timeout: timeout)
        } catch {
            // A headset has an object only while it is paired.
            guard error.code == .noSuchCall else { throw error }
            throw BridgeError(.unavailable, "\(address) is not paired: `btcall headset pair` pairs it")
        }
    }
}
