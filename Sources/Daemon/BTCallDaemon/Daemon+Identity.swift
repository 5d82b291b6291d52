package import BTCallAPI
import BlueZ
import BluetoothTypes
import BusObjects
import CallControl
package import Configuration
import ControlLoop
import HeadsetControl
import Logging

// Who the box is: what of it may change when, who is told, and logging out.
extension Daemon {
    package func joinIdentity() {
        settings.obstacle = { [weak self] condition, name in
            guard let self else { return nil }
            switch condition {
            case .always: return nil
            case .inactive:
                guard state != .inactive else { return nil }
                return APIError(
                    .wrongState,
                    "\(name) can be changed only while btcalld is inactive, and it is \(state.rawValue): `btcall logout` "
                        + "or `btcall deactivate` first")
            case .noCalls:
                guard !calls.calls.isEmpty else { return nil }
                return APIError(
                    .callsActive, "\(name) can be changed only while there is no call: end them first (`btcall hangup`)"
                )
            }
        }
        adapterNames.name = configuration.identity.displayName
    }

    package func applyIdentity(_ new: Configuration, replacing old: Configuration) {
        adapterNames.name = new.identity.displayName
        if new.identity != old.identity || new.ownNumber != old.ownNumber { manager?.configurationChanged() }
    }

    /// Deactivates and drops who the box is: the account, the user, the name and the number. Pairings stay.
    ///
    /// - Parameter forgettingHeadsets: unpairs all headsets as well, whether they are connected or not.
    /// - Throws: `unavailable` when a headset could not be forgotten; all the rest is done then.
    package func logout(forgettingHeadsets: Bool) async throws(APIError) {
        let identity: [ConfigurationDescription.Entry] = [.accountID, .userID, .displayName, .phoneNumber]
        try await activation.reach(.inactive) { [weak self] in
            self?.settings.empty(identity.map(\.setting))
            self?.logger.notice("logged out")
        }
        if forgettingHeadsets { try await forgetHeadsets() }
    }

    private func forgetHeadsets() async throws(APIError) {
        guard registry.isServicePresent else {
            throw APIError(
                .unavailable,
                "logged out, and no headset is forgotten: bluetoothd is not on the bus (`systemctl start bluetooth`)")
        }
        let headsets = registry.devices.filter { $0.paired && ($0.isHandsFree || $0.isHeadset) }.map(\.address)
        var kept: [String] = []
        for address in Set(headsets).sorted() {
            do throws(DeviceCallError) {
                try await registry.remove(address)
            } catch {
                // Somebody else was quicker.
                guard error != .unknownDevice else { continue }
                kept.append("\(address) (\(error))")
            }
        }
        guard kept.isEmpty else {
            throw APIError(.unavailable, "logged out, and not forgotten: \(kept.joined(separator: ", "))")
        }
    }
}
