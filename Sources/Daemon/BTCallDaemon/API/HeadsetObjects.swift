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
            bus.export([interface(address)], at: BTCallPath.headset(address))
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

    private func interface(_ address: BluetoothAddress) -> ExportedInterface {
        let headsets = headsets
        typealias Name = BTCallName.Headset
        func property(_ name: String, _ signature: String, _ empty: Value) -> ExportedInterface.Property {
            .init(name, signature, get: { headsets.description(of: address)?.properties[name] ?? empty })
        }
        func volume(
            _ name: String, limit: @escaping @ControlPlane () -> Int, _ set: @escaping @ControlPlane (UInt8) -> Void
        ) -> ExportedInterface.Property {
            .init(
                name, "y", get: { headsets.description(of: address)?.properties[name] ?? .byte(0) },
                set: { value throws(BusError) in
                    guard let volume = value.byteValue, volume <= 15 else {
                        throw APIError(.invalidArgument, "a headset's volume is 0 to 15").busError
                    }
                    guard volume <= limit() else {
                        throw APIError(
                            .invalidArgument,
                            "\(volume) is louder than this headset may be: 0 to \(limit()) (volumeCeiling)"
                        ).busError
                    }
                    set(volume)
                })
        }
        return ExportedInterface(
            BTCallName.Interface.headset,
            methods: [
                .init(Name.disconnect) { _ async throws(BusError) in
                    do throws(APIError) {
                        try await headsets.disconnect(address)
                        return []
                    } catch {
                        throw error.busError
                    }
                }
            ],
            signals: [.init(Name.buttonPressed, [("button", "s")])],
            properties: [
                property(Name.address, "s", ""), property(Name.name, "s", ""), property(Name.connected, "b", false),
                property(Name.codec, "s", ""), property(Name.codecs, "as", .strings([])),
                property(Name.codecReason, "s", ""), property(Name.audioPolicy, "a{sv}", .vardict([:])),
                property(Name.battery, "i", .int32(-1)),
                volume(Name.speakerVolume, limit: { headsets.speakerCeiling(of: address) }) {
                    headsets.setSpeakerVolume($0, of: address)
                },
                volume(Name.microphoneVolume, limit: { 15 }) { headsets.setMicrophoneVolume($0, of: address) },
                property(Name.mediaCodec, "s", ""), property(Name.mediaState, "s", ""),
                .init(
                    Name.mediaVolume, "i",
                    get: { headsets.description(of: address)?.properties[Name.mediaVolume] ?? .int32(-1) },
                    set: { [weak self] value throws(BusError) in
                        guard let volume = value.int32Value, (0...127).contains(volume) else {
                            throw APIError(.invalidArgument, "the volume of A2DP is 0 to 127").busError
                        }
                        guard headsets.media?(address)?.volume != nil else {
                            throw APIError(
                                .unavailable, "the volume of this headset's A2DP cannot be set: use its own buttons"
                            ).busError
                        }
                        self?.onMediaVolume?(address, Int(volume))
                    }),
            ])
    }
}
