package import BTCallAPI
import BlueZ
import BluetoothTypes
import BusObjects
import CallControl
import Configuration
package import ControlLoop
import HeadsetControl
import Logging

/// Activates, deactivates and logs out in the right order, and decides which settings may change in which state.
@ControlPlane
package final class DaemonLifecycle: Activating {
    package let stateChanges = Signal<Void>()
    private let activation: Activation
    private let settings: Settings
    private let calls: CallDirectory
    private let headsets: HeadsetParts
    private let logger: Logger

    init(settings: Settings, calls: CallDirectory, headsets: HeadsetParts, logger: Logger) {
        activation = Activation(timeout: settings.configuration.timeouts.activation)
        self.settings = settings
        self.calls = calls
        self.headsets = headsets
        self.logger = logger
        activation.onState = { [weak self] state in self?.reached(state) }
        activation.open = {
            calls.acceptsProviders = true
            headsets.profiles.start()
        }
        activation.isReady = { headsets.profiles.isAnswered }
        activation.close = {
            calls.acceptsProviders = false
            calls.releaseProviders()
            headsets.directory.closeAll()
        }
        activation.withdraw = { await headsets.withdraw() }
        headsets.profiles.changes.subscribe(self) { $0.activation.readinessChanged() }
        headsets.registry.events.subscribe(self) { lifecycle, event in
            if event == .serviceVanished { lifecycle.activation.readinessChanged() }
        }
        settings.obstacle = { [weak self] condition, name in self?.obstacle(condition, name) }
    }

    package var state: ManagerDescription.State { activation.state }

    /// Becomes active without waiting for bluetoothd.
    func begin() { activation.beginActive() }

    func end() async { await activation.end() }

    /// Registers the profiles and accepts providers; returns once bluetoothd has answered.
    ///
    /// - Throws: `wrongState` when another client deactivates it meanwhile.
    package func activate() async throws(APIError) {
        try await activation.reach(.active)
    }

    /// Ends all calls, releases the providers and unregisters the profiles; returns once that is done.
    package func deactivate() async throws(APIError) {
        try await activation.reach(.inactive)
    }

    private func reached(_ state: Activation.State) {
        // Clients see the new state before its effects.
        stateChanges.send()
        headsets.setActive(state == .active)
        switch state {
        case .active, .inactive: logger.notice("\(state.rawValue)")
        case .activating, .deactivating: break
        }
    }

    private func obstacle(_ condition: ConfigurationKey.Condition, _ name: String) -> APIError? {
        switch condition {
        case .always: return nil
        case .inactive:
            guard state != .inactive else { return nil }
            return APIError(
                .wrongState,
                "\(name) can be changed only while btcalld is inactive, and it is \(state.rawValue): `btcall daemon logout` "
                    + "or `btcall daemon deactivate` first")
        case .noCalls:
            guard !calls.calls.isEmpty else { return nil }
            return APIError(
                .callsActive, "\(name) can be changed only while there is no call: end them first (`btcall hangup`)")
        }
    }

    // MARK: Logging out

    /// Deactivates, and clears the account, the user, the name and the number. Pairings stay.
    ///
    /// - Parameter forgettingHeadsets: also unpairs all headsets, connected or not.
    /// - Throws: `unavailable` when a headset could not be unpaired; everything else is done then.
    package func logout(forgettingHeadsets: Bool) async throws(APIError) {
        let identity: [ConfigurationDescription.Entry] = [.accountID, .userID, .displayName, .phoneNumber]
        try await activation.reach(.inactive) { [weak self] in
            self?.settings.empty(identity.map(\.setting))
            self?.logger.notice("logged out")
        }
        if forgettingHeadsets { try await forgetHeadsets() }
    }

    private func forgetHeadsets() async throws(APIError) {
        let registry = headsets.registry
        guard registry.isServicePresent else {
            throw APIError(
                .unavailable,
                "logged out, but no headset was forgotten: bluetoothd is not on the bus (`systemctl start bluetooth`)")
        }
        let addresses = registry.devices.filter { $0.paired && ($0.isHandsFree || $0.isHeadset) }.map(\.address)
        var kept: [String] = []
        for address in Set(addresses).sorted() {
            do throws(DeviceCallError) {
                try await registry.remove(address)
            } catch {
                // Another program has removed it already.
                guard error != .unknownDevice else { continue }
                kept.append("\(address) (\(error))")
            }
        }
        guard kept.isEmpty else {
            throw APIError(.unavailable, "logged out, but not forgotten: \(kept.joined(separator: ", "))")
        }
    }
}
