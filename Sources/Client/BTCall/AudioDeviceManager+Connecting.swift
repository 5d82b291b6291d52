import BTCallAPI
import BluetoothTypes

extension AudioDeviceManager {
    /// Longer than bluetoothd pages: it answers before that.
    private static let connectTimeout = Duration.seconds(60)

    /// Connects a paired headset, as its owner would at the headset; returns when bluetoothd has. A headset that is connected for
    /// calls stays as it is.
    ///
    /// - Parameter headset: one headset, by its address.
    /// - Throws: `.invalidArgument` for what is no headset; `.unavailable` for one that is not paired, is off or out of reach;
    ///   `.wrongState` while the daemon is not active.
    public func connect(_ headset: DeviceChoice) async throws(BridgeError) {
        try await request(BTCallName.Headset.connect, of: headset, timeout: Self.connectTimeout)
    }

    /// Disconnects a headset; it stays paired and is left alone until somebody connects it.
    ///
    /// - Throws: as ``connect(_:)``; `.unavailable` for one that is not connected.
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
            // A headset has an object while it is paired.
            guard error.code == .noSuchCall else { throw error }
            throw BridgeError(.unavailable, "\(address) is not paired: `btcall headset pair` pairs it")
        }
    }
}
