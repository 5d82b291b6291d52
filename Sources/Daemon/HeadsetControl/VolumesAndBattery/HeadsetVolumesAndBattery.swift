package import BlueZ
package import BluetoothTypes
package import ControlLoop
package import HandsFree

/// Remembers each headset's volumes, and passes its battery on to bluetoothd.
@ControlPlane
package final class HeadsetVolumesAndBattery {
    /// Whether a microphone volume of 0 is a mute, which is not remembered as a volume.
    package var mutesByVolume = false
    private let memory: VolumeMemory
    private let ceilings: [BluetoothAddress: Int]
    private let provider: BatteryProvider

    /// - Parameter ceilings: highest speaker volumes of headsets with a setting of their own, 0…15.
    package init(
        memory: VolumeMemory, ceilings: [BluetoothAddress: Int], registry: DeviceRegistry, provider: BatteryProvider
    ) {
        self.memory = memory
        self.ceilings = ceilings
        self.provider = provider
        registry.events.subscribe(self) { volumesAndBattery, _ in volumesAndBattery.provider.refresh() }
    }

    /// Adds the settings of this headset alone to the common configuration.
    package func prepare(_ configuration: inout AudioGatewayConfiguration, for address: BluetoothAddress) {
        if let ceiling = ceilings[address] { configuration.speakerCeiling = ceiling }
    }

    /// A headset has connected.
    package func begun(_ session: HeadsetSession) {
        session.restore(memory.volumes(of: session.address))
    }

    /// A headset's volumes or battery may have changed.
    package func changed(_ session: HeadsetSession) {
        var volumes = session.volumes
        if mutesByVolume, volumes.microphone == 0 { volumes.microphone = nil }
        memory.note(volumes, of: session.address)
        provider.set(
            session.charge.report.map { .init(percent: $0.percent, source: $0.source.words) }, of: session.address)
    }

    /// A headset's connection has ended.
    package func ended(_ address: BluetoothAddress) {
        provider.set(nil, of: address)
    }

    /// A headset is no longer paired.
    package func forget(_ address: BluetoothAddress) {
        memory.forget(address)
    }

    /// Saves unwritten changes and withdraws the batteries from bluetoothd.
    package func stop() {
        memory.flush()
        provider.stop()
    }
}
