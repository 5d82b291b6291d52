import BTCallAPI
import BlueZ
import BluetoothTypes
package import ControlLoop
package import DBus
import HandsFree
package import HeadsetControl

/// The `org.btcall.Headset1` objects, one for each paired or connected headset.
@ControlPlane
package final class HeadsetObjects {
    private let bus: BusConnection
    private let headsets: HeadsetDirectory
    /// The headsets with an object, as last shown.
    private var exported: [BluetoothAddress: HeadsetDescription] = [:]
    private let mediaSource: MediaSource
    private weak var lifecycle: (any Activating)?

    package init(bus: BusConnection, headsets parts: HeadsetParts, buttons: Buttons, lifecycle: any Activating) {
        self.lifecycle = lifecycle
        self.bus = bus
        headsets = parts.directory
        mediaSource = parts.music.source
        headsets.changes.subscribe(self) { $0.handle($1) }
        headsets.known.subscribe(self) { $0.follow($1) }
        parts.music.changes.subscribe(self) { objects, change in
            switch change {
            case .stream(let address), .foreignMusic(let address), .foreign(let address), .shown(let address):
                objects.follow(address)
            case .registered: break
            }
        }
        parts.registry.events.subscribe(self) { objects, event in
            // bluetoothd reports names of absent headsets, and batteries that headsets do not report to btcalld.
            guard case .deviceChanged(let device) = event else { return }
            let isAway = objects.headsets.description(of: device.address) == nil
            guard isAway || objects.headsets.isSilentAboutBattery(device.address) else { return }
            objects.follow(device.address)
        }
        buttons.presses.subscribe(self) { objects, press in objects.buttonPressed(press.0, press.1) }
    }

    private func handle(_ change: HeadsetDirectory.Change) {
        switch change {
        case .appeared(let address), .vanished(let address), .changed(let address): follow(address)
        case .vendor(let address, let report): emitted(report, by: address)
        default: break
        }
    }

    /// Updates a headset's object after a possible change, creates or removes it.
    private func follow(_ address: BluetoothAddress) {
        guard let headset = headsets.presentation(of: address) else {
            if exported.removeValue(forKey: address) != nil { bus.unexport(path: BTCallPath.headset(address)) }
            return
        }
        let shown = exported.updateValue(headset, forKey: address)
        if shown == nil {
            let object = HeadsetObject(address, headsets: headsets, mediaSource: mediaSource, lifecycle: lifecycle)
            bus.export([object.interface], at: BTCallPath.headset(address))
        } else if let shown, shown != headset {
            changed(address, from: shown, to: headset)
        }
    }

    /// Signals the properties whose values have changed.
    private func changed(_ address: BluetoothAddress, from old: HeadsetDescription, to new: HeadsetDescription) {
        let (before, after) = (old.properties, new.properties)
        bus.propertiesChanged(
            path: BTCallPath.headset(address), interface: BTCallName.Interface.headset,
            after.keys.sorted().filter { before[$0] != after[$0] })
    }

    private func emitted(_ report: AudioGateway.VendorReport, by address: BluetoothAddress) {
        bus.emit(
            path: BTCallPath.headset(address), interface: BTCallName.Interface.headset,
            member: BTCallName.Headset.vendorEvent, [.string(report.word), .strings(report.values)])
    }

    private func buttonPressed(_ address: BluetoothAddress, _ button: String) {
        bus.emit(
            path: BTCallPath.headset(address), interface: BTCallName.Interface.headset,
            member: BTCallName.Headset.buttonPressed, [.string(button)])
    }
}
