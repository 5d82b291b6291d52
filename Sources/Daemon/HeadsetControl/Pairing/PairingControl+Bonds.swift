package import BTCallAPI
import BlueZ
package import BluetoothTypes
import ControlLoop

// What is done with devices that are paired.
extension PairingControl {
    /// Lets a paired device connect by itself, or not any more.
    ///
    /// - Throws: `unavailable` for one that bluetoothd does not know or will not change, `wrongState` for one that is not paired.
    package func trust(_ address: BluetoothAddress, _ isTrusted: Bool, by who: String) async throws(APIError) {
        guard try known(address).paired || !isTrusted else {
            throw APIError(.wrongState, "\(address) is not paired: `btcall headset pair --allow \(address)` first")
        }
        do throws(PairingError) {
            try await registry.setTrusted(isTrusted, address)
        } catch {
            throw APIError(.unavailable, "the trust in \(address) is not changed: \(error)")
        }
        audit("\(address) is \(isTrusted ? "trusted" : "not trusted any more"), as \(who) asked")
    }

    /// Drops the bond and everything that bluetoothd knows of a device; it is disconnected.
    ///
    /// - Throws: `unavailable` for one that bluetoothd does not know or will not forget.
    package func forget(_ address: BluetoothAddress, by who: String) async throws(APIError) {
        _ = try known(address)
        do throws(DeviceCallError) {
            try await registry.remove(address)
        } catch {
            // Somebody else was quicker.
            guard error != .unknownDevice else { return }
            throw APIError(.unavailable, "\(address) is not forgotten: \(error)")
        }
        audit("\(address) is forgotten, as \(who) asked")
    }

    /// Of a device that the window does not allow.
    package func dropBond(of address: BluetoothAddress) {
        Task { @ControlPlane [weak self] in
            do throws(DeviceCallError) {
                try await self?.registry.remove(address)
            } catch {
                guard error != .unknownDevice else { return }
                self?.audit(
                    "the bond of \(address) is not taken back: \(error): `btcall headset forget \(address)`")
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
