import BTCallAPI
package import BluetoothTypes
package import ControlLoop
package import DBus

/// `org.btcall.Headset1`: one object for each headset whose service level connection or A2DP is up.
@ControlPlane
package final class HeadsetObjects {
    private let bus: BusConnection
    private let headsets: HeadsetDirectory
    private var exported: Set<BluetoothAddress> = []
    /// Sets how loud a headset plays what comes over A2DP, 0…127.
    package var onMediaVolume: (@ControlPlane (BluetoothAddress, Int) -> Void)?

    package init(bus: BusConnection, headsets: HeadsetDirectory) {
        self.bus = bus
        self.headsets = headsets
    }

    /// Something of a headset may be other than before, or it has come or gone.
    package func follow(_ address: BluetoothAddress) {
        guard headsets.description(of: address) != nil else {
            if exported.remove(address) != nil { bus.unexport(path: BTCallPath.headset(address)) }
            return
        }
        if exported.insert(address).inserted {
            let object = HeadsetObject(address, headsets: headsets) { [weak self] volume in
                self?.onMediaVolume?(address, volume)
            }
            bus.export([object.interface], at: BTCallPath.headset(address))
        } else {
            changed(address)
        }
    }

    private func changed(_ address: BluetoothAddress) {
        typealias Name = BTCallName.Headset
        bus.propertiesChanged(
            path: BTCallPath.headset(address), interface: BTCallName.Interface.headset,
            [
                Name.name, Name.codec, Name.codecs, Name.codecReason, Name.audioPolicy, Name.battery,
                Name.speakerVolume, Name.microphoneVolume, Name.mediaVolume, Name.mediaCodec, Name.mediaState,
            ])
    }

    package func buttonPressed(_ address: BluetoothAddress, _ button: String) {
        bus.emit(
            path: BTCallPath.headset(address), interface: BTCallName.Interface.headset,
            member: BTCallName.Headset.buttonPressed, [.string(button)])
    }
}
