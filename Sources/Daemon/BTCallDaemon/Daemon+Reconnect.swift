package import BTCallAPI
package import BlueZ
package import BluetoothTypes
import BusObjects
import CallControl
package import Configuration
import ControlLoop
package import Diagnostics
package import HeadsetControl
package import HeadsetPolicy
package import Logging
import Routing

// Headsets that come back by themselves.
extension Daemon {
    package static func reconnector(
        _ configuration: Configuration, _ registry: DeviceRegistry, _ ends: (any RadioLinkEnds)?,
        _ writer: StateWriter, _ problems: ProblemList, _ logger: Logger
    ) -> Reconnector {
        Reconnector(
            registry: registry, problems: problems,
            store: configuration.stateDirectory.map { ReconnectStore(directory: $0) }, writer: writer, ends: ends,
            settings: configuration.reconnectSettings, logger: logger)
    }

    package func joinReconnector() {
        reconnector.scene = { [weak self] in
            self?.reconnectScene() ?? Reconnector.Scene(facts: [], isActive: false, isBusy: true)
        }
        reconnector.name = { [headsets] address in headsets.name(of: address) }
        reconnector.onChange = { [weak self] in self?.routerObject?.refresh() }
        admission.onIdle = { [weak self] in self?.reconnector.follow() }
        headsets.onFreed = { [weak self] address in self?.reconnector.freed(address) }
        headsets.onUnpaired = { [weak self] address in self?.reconnector.forget(address) }
    }

    /// Somebody disconnects the headset on this machine, or one of its profiles.
    package func dismissed(_ address: BluetoothAddress) {
        expectedProfiles.dismissed(address)
        reconnector.dismissed(address)
    }

    package func describeReconnection(of address: BluetoothAddress, in description: inout DeviceDescription) {
        let standing = reconnector.standing(of: address)
        guard standing != .none else { return }
        description.reconnect = standing.rawValue
        guard !description.isAvailable else { return }
        switch standing {
        case .none, .waiting, .paging: return
        case .leftAlone: description.unavailableBecause = "disconnected on purpose"
        case .quarantined: description.unavailableBecause = "not connected: it comes and goes"
        }
    }

    private func reconnectScene() -> Reconnector.Scene {
        var facts: [ReconnectManager.Fact] = []
        var seen: Set<BluetoothAddress> = []
        for address in registry.devices.map(\.address) where seen.insert(address).inserted {
            guard let device = registry.device(address), device.paired, device.trusted, !device.blocked,
                registry.adapter(path: device.adapterPath)?.powered == true, isConnectable(device)
            else { continue }
            facts.append(fact(of: device))
        }
        // While the board sleeps, or is about to, connections end for no other reason.
        let isAwake = !interruptions.sources.contains(Interruptions.suspend)
        return Reconnector.Scene(
            facts: facts, isActive: state == .active && isAwake, isBusy: !calls.calls.isEmpty || admission.isSettingUp)
    }

    /// Whether a profile of it is served here and now.
    private func isConnectable(_ device: DeviceRegistry.Device) -> Bool {
        if device.isHandsFree, profile.state == .registered { return true }
        if device.isHeadset, headsets.servesHeadsetProfile, headsetProfile.state == .registered { return true }
        return device.isAudioSink && settings.configuration.a2dp && mediaSource.isRegistered
    }

    private func fact(of device: DeviceRegistry.Device) -> ReconnectManager.Fact {
        let address = device.address
        switch headsets.presence(of: address) {
        case .up: return ReconnectManager.Fact(address, .up)
        case .comingUp: return ReconnectManager.Fact(address, .comingUp)
        case .down:
            if media.isUp(address) || mediaSource.isForeign(address) {
                return ReconnectManager.Fact(address, .up, hasVoice: false)
            }
            return ReconnectManager.Fact(address, device.connected ? .linked : .away)
        }
    }
}

extension Configuration {
    package var reconnectSettings: ReconnectManager.Settings {
        ReconnectManager.Settings(
            isOn: reconnect.isOn, first: waits.reconnectSecond * reconnect.seconds,
            longest: waits.reconnectSecond * max(reconnect.maxSeconds, reconnect.seconds),
            losses: reconnect.losses, quarantine: waits.reconnectSecond * reconnect.quarantineSeconds,
            gap: waits.reconnectSecond * 2, order: routing.headsetOrder)
    }
}
