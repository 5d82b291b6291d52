import BTCallAPI
package import BlueZ
package import BluetoothTypes
package import ControlLoop
package import DBus
package import HeadsetControl

/// `org.btcall.Headset1`: one object for each headset whose service level connection or A2DP is up.
@ControlPlane
package final class HeadsetObjects {
    private let bus: BusConnection
    private let headsets: HeadsetDirectory
    private var exported: Set<BluetoothAddress> = []
    private let mediaSource: MediaSource

    package init(bus: BusConnection, headsets: HeadsetDirectory, mediaSource: MediaSource) {
        self.bus = bus
        self.headsets = headsets
        self.mediaSource = mediaSource
    }

    /// Something of a headset may be other than before, or it has come or gone.
    package func follow(_ address: BluetoothAddress) {
        guard headsets.description(of: address) != nil else {
            if exported.remove(address) != nil { bus.unexport(path: BTCallPath.headset(address)) }
            return
        }
        if exported.insert(address).inserted {
            let object = HeadsetObject(address, headsets: headsets, mediaSource: mediaSource)
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
