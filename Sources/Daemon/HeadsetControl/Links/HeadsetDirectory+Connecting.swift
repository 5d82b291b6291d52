package import BTCallAPI
package import BlueZ
package import BluetoothTypes
import ControlLoop

// How clients see a disconnected headset, and how they connect it.
extension HeadsetDirectory {
    /// The headset as clients see it: connected, or paired and away; nil if it is neither.
    package func presentation(of address: BluetoothAddress) -> HeadsetDescription? {
        if let description = description(of: address) { return description }
        guard described[address] != nil else { return nil }
        return HeadsetDescription(address: address, name: name(of: address), isConnected: false)
    }

    /// Connects a paired headset with all its profiles; does nothing when it is connected for calls.
    ///
    /// - Throws: `unavailable` with bluetoothd's reason.
    package func connect(_ address: BluetoothAddress) async throws(APIError) {
        if sessions[address]?.isEstablished == true { return }
        do throws(DeviceCallError) {
            try await page(address)
        } catch .alreadyDone {
            return
        } catch .inProgress {
            throw APIError(.unavailable, "\(address) is being connected already: wait for that")
        } catch {
            throw APIError(.unavailable, "\(address) is not connected: \(error)")
        }
    }

    /// Connects the headset. `Device1.Connect` covers only profiles registered with AutoConnect, which the Headset Profile
    /// is not.
    package func page(_ address: BluetoothAddress) async throws(DeviceCallError) {
        guard let device = registry.device(address) else { throw .unknownDevice }
        if device.isHandsFree || device.isAudioSink {
            try await registry.connect(address)
        } else {
            try await registry.connectProfile(.headset, of: address)
        }
    }
}
