import BTCallAPI
package import BlueZ
import BluetoothTypes
import BusObjects
package import Configuration
import ControlLoop
package import DBus
package import Diagnostics
import HandsFree
package import HeadsetControl
package import Logging

// Volumes and batteries: what headsets are told of ours, and who is told of theirs.
extension Daemon {
    package static func levels(
        _ configuration: Configuration, _ bus: BusConnection, _ registry: DeviceRegistry, _ writer: StateWriter,
        _ problems: ProblemList, _ logger: Logger
    ) -> HeadsetLevels {
        HeadsetLevels(
            memory: VolumeMemory(
                directory: configuration.stateDirectory, pause: configuration.waits.volumes, writer: writer,
                problems: problems, logger: logger),
            ceilings: configuration.headsets.compactMapValues(\.volumeCeiling),
            provider: BatteryProvider(bus: bus, registry: registry, logger: logger))
    }

    /// Hands the headsets what they are told, with the board's battery as it is now.
    package func updateGateway(_ configuration: Configuration) {
        var gateway = Self.gateway(configuration)
        // The service record says it too, and that is registered once.
        if headsets.configuration.features.contains(.echoCancelling) {
            gateway.features.insert(.echoCancelling)
        } else {
            gateway.features.remove(.echoCancelling)
        }
        gateway.indicators[.battery] = BoardBattery.level(boardBattery.percent)
        if gateway != headsets.configuration { headsets.configuration = gateway }
    }

    package func boardBatteryChanged() {
        updateGateway(settings.configuration)
        manager?.boardBatteryChanged()
    }

    /// bluetoothd knows the battery of headsets that do not tell it us.
    package func batteryChanged(of device: DeviceRegistry.Device) {
        if headsets.isSilentAboutBattery(device.address) { headsetObjects?.follow(device.address) }
    }
}
