package import BlueZ
import BluetoothTypes
package import CallControl
package import ControlLoop
import HeadsetPolicy

/// Facts for `Reconnector`: which headsets can be connected, which are, and whether this is a good time to page one.
@ControlPlane
package final class ReconnectObserver {
    /// The facts may have changed. Changes that bluetoothd reports are not signalled here.
    package let changes = Signal<Void>()
    package let headsets: HeadsetDirectory
    /// Whether the daemon is active.
    package var isActive = false {
        didSet { changes.send() }
    }
    private let registry: DeviceRegistry
    private let profiles: VoiceProfiles
    private let music: MusicControl
    private let calls: CallDirectory
    private let interruptions: Interruptions
    private let admission: LinkAdmission

    package init(
        registry: DeviceRegistry, headsets: HeadsetDirectory, profiles: VoiceProfiles, music: MusicControl,
        calls: CallParts, admission: LinkAdmission
    ) {
        self.registry = registry
        self.headsets = headsets
        self.profiles = profiles
        self.music = music
        self.calls = calls.directory
        interruptions = calls.interruptions
        self.admission = admission
        profiles.changes.subscribe(self) { $0.changes.send() }
        calls.directory.changes.subscribe(self) { observer, _ in observer.changes.send() }
        admission.events.subscribe(self) { observer, event in
            if case .idle = event { observer.changes.send() }
        }
        music.changes.subscribe(self) { observer, change in
            switch change {
            case .stream, .foreign, .registered: observer.changes.send()
            case .foreignMusic, .shown: break
            }
        }
    }

    package var scene: Reconnector.Scene {
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
            facts: facts, isActive: isActive && isAwake, isBusy: !calls.calls.isEmpty || admission.isSettingUp)
    }

    /// Whether one of its profiles is served now.
    private func isConnectable(_ device: DeviceRegistry.Device) -> Bool {
        if device.isHandsFree, profiles.serves(.handsFree) { return true }
        if device.isHeadset, profiles.serves(.headset) { return true }
        return device.isAudioSink && music.isUp(device.address) != nil
    }

    private func fact(of device: DeviceRegistry.Device) -> ReconnectManager.Fact {
        let address = device.address
        switch headsets.presence(of: address) {
        case .up: return ReconnectManager.Fact(address, .up)
        case .comingUp: return ReconnectManager.Fact(address, .comingUp)
        case .down:
            if music.isConnected(address) { return ReconnectManager.Fact(address, .up, hasVoice: false) }
            return ReconnectManager.Fact(address, device.connected ? .linked : .away)
        }
    }
}
