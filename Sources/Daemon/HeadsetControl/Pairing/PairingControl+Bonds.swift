package import BTCallAPI
import BlueZ
package import BluetoothTypes
import ControlLoop

// Operations on paired devices.
extension PairingControl {
    /// Allows a paired device to connect of its own accord, or forbids it.
    ///
    /// - Throws: `unavailable` for a device that bluetoothd does not know or fails to change, `wrongState` for one that is
    ///   not paired.
    package func trust(_ address: BluetoothAddress, _ isTrusted: Bool, by who: String) async throws(APIError) {
        guard try known(address).paired || !isTrusted else {
            throw APIError(.wrongState, "\(address) is not paired: `btcall headset pair --allow \(address)` first")
        }
        do throws(PairingError) {
            try await registry.setTrusted(isTrusted, address)
        } catch {
            throw APIError(.unavailable, "the trust in \(address) is not changed: \(error)")
        }
        audit("\(address) is \(isTrusted ? "trusted" : "not trusted any more"), as requested by \(who)")
    }

    /// Removes the bond and all data that bluetoothd has on a device; bluetoothd disconnects it.
    ///
    /// - Throws: `unavailable` for a device that bluetoothd does not know or fails to remove.
    package func forget(_ address: BluetoothAddress, by who: String) async throws(APIError) {
        _ = try known(address)
        do throws(DeviceCallError) {
            try await registry.remove(address)
        } catch {
            // Another program has removed it first.
            guard error != .unknownDevice else { return }
            throw APIError(.unavailable, "\(address) is not forgotten: \(error)")
        }
        audit("\(address) is forgotten, as requested by \(who)")
    }

    /// Removes the bond of a device that the window does not allow.
    package func dropBond(of address: BluetoothAddress) {
        Task { @ControlPlane [weak self] in
            do throws(DeviceCallError) {
                try await self?.registry.remove(address)
            } catch {
                guard error != .unknownDevice else { return }
                self?.audit(
                    "the bond of \(address) is not removed: \(error): `btcall headset forget \(address)`")
            }
        }
    }

    private func known(_ address: BluetoothAddress) throws(APIError) -> DeviceRegistry.Device {
        guard registry.isServicePresent else {
            throw APIError(
                .unavailable, "bluetoothd is not on the bus: start it (`systemctl start bluetooth`)")
        }
        guard let device = registry.device(address) else {
            throw APIError(
                .unavailable, "bluetoothd knows no device \(address): `btcall headset pair --allow \(address)` pairs it"
            )
        }
        return device
    }
}
