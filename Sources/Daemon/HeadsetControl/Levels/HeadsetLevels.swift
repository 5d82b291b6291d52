package import BlueZ
package import BluetoothTypes
package import ControlLoop
package import HandsFree

/// What is remembered and passed on of each headset's volume and battery.
@ControlPlane
package final class HeadsetLevels {
    /// A microphone volume of 0 is a mute, and no volume to come back to.
    package var mutesByVolume = false
    private let memory: VolumeMemory
    private let ceilings: [BluetoothAddress: Int]
    private let provider: BatteryProvider

    /// - Parameter ceilings: of headsets that have one of their own, 0…15.
    package init(
        memory: VolumeMemory, ceilings: [BluetoothAddress: Int], registry: DeviceRegistry, provider: BatteryProvider
    ) {
        self.memory = memory
        self.ceilings = ceilings
        self.provider = provider
        registry.events.subscribe(self) { levels, _ in levels.provider.refresh() }
    }

    /// Puts what holds for this headset alone into the configuration of all.
    package func prepare(_ configuration: inout AudioGatewayConfiguration, for address: BluetoothAddress) {
        if let ceiling = ceilings[address] { configuration.speakerCeiling = ceiling }
    }

    /// A headset has connected.
    package func begun(_ session: HeadsetSession) {
        session.restore(memory.volumes(of: session.address))
    }

    /// Something of a headset may have changed.
    package func changed(_ session: HeadsetSession) {
        var volumes = session.volumes
        if mutesByVolume, volumes.microphone == 0 { volumes.microphone = nil }
        memory.note(volumes, of: session.address)
        provider.set(
            session.charge.report.map { .init(percent: $0.percent, source: $0.source.words) }, of: session.address)
    }

    /// A headset's connection is over.
    package func ended(_ address: BluetoothAddress) {
        provider.set(nil, of: address)
    }

    /// A headset is not paired any more.
    package func forget(_ address: BluetoothAddress) {
        memory.forget(address)
    }

    /// Keeps what has not been written, and takes back what was given to bluetoothd.
    package func stop() {
        memory.flush()
        provider.stop()
    }
}
