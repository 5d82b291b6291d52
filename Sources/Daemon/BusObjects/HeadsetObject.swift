import BTCallAPI
import BlueZ
import BluetoothTypes
import ControlLoop
import DBus
import HeadsetControl

/// The members of one `org.btcall.Headset1`.
@ControlPlane
final class HeadsetObject {
    private let address: BluetoothAddress
    private let headsets: HeadsetDirectory
    private let mediaSource: MediaSource
    private weak var lifecycle: (any Activating)?

    init(
        _ address: BluetoothAddress, headsets: HeadsetDirectory, mediaSource: MediaSource, lifecycle: (any Activating)?
    ) {
        self.lifecycle = lifecycle
        self.address = address
        self.headsets = headsets
        self.mediaSource = mediaSource
    }

    var interface: ExportedInterface {
        typealias Name = BTCallName.Headset
        return ExportedInterface(
            BTCallName.Interface.headset,
            methods: [.init(Name.connect, by: connect), .init(Name.disconnect, by: disconnect)],
            signals: [
                .init(Name.buttonPressed, [("button", "s")]),
                .init(Name.vendorEvent, [("event", "s"), ("values", "as")]),
            ],
            properties: [
                .init(Name.address, "s", get: value(Name.address, "")),
                .init(Name.name, "s", get: value(Name.name, "")),
                .init(Name.connected, "b", get: value(Name.connected, false)),
                .init(Name.codec, "s", get: value(Name.codec, "")),
                .init(Name.codecs, "as", get: value(Name.codecs, .strings([]))),
                .init(Name.codecReason, "s", get: value(Name.codecReason, "")),
                .init(Name.audioPolicy, "a{sv}", get: value(Name.audioPolicy, .vardict([:]))),
                .init(Name.battery, "i", get: value(Name.battery, .int32(-1))),
                .init(Name.speakerVolume, "y", get: value(Name.speakerVolume, .byte(0)), by: setSpeakerVolume),
                .init(Name.microphoneVolume, "y", get: value(Name.microphoneVolume, .byte(0)), by: setMicrophoneVolume),
                .init(Name.microphoneMuted, "b", get: value(Name.microphoneMuted, false)),
                .init(Name.powerSource, "s", get: value(Name.powerSource, "")),
                .init(Name.enhancedSafety, "s", get: value(Name.enhancedSafety, "")),
                .init(Name.talk, "s", get: value(Name.talk, "")),
                .init(Name.talkDelay, "i", get: value(Name.talkDelay, .int32(-1))),
                .init(Name.mediaCodec, "s", get: value(Name.mediaCodec, "")),
                .init(Name.mediaState, "s", get: value(Name.mediaState, "")),
                .init(Name.mediaVolume, "i", get: value(Name.mediaVolume, .int32(-1)), by: setMediaVolume),
            ])
    }

    /// - Parameter empty: value for a headset that has gone.
    private func value(_ name: String, _ empty: Value) -> @ControlPlane () -> Value {
        { [headsets, address] in headsets.presentation(of: address)?.properties[name] ?? empty }
    }

    // MARK: Members

    private func connect(_: MethodCall) async throws(APIError) {
        guard lifecycle?.state == .active else {
            throw APIError(.wrongState, "the daemon is not active: call Manager1.Activate first")
        }
        try await headsets.connect(address)
    }

    private func disconnect(_: MethodCall) async throws(APIError) { try await headsets.disconnect(address) }

    private func setSpeakerVolume(_ value: Value) throws(APIError) {
        try checkVoice()
        headsets.setSpeakerVolume(try volume(value, limit: headsets.speakerCeiling(of: address)), of: address)
    }

    private func setMicrophoneVolume(_ value: Value) throws(APIError) {
        try checkVoice()
        headsets.setMicrophoneVolume(try volume(value, limit: 15), of: address)
    }

    /// A volume is kept in the headset, so it can be set only while the headset is connected.
    private func checkVoice() throws(APIError) {
        guard headsets.description(of: address)?.hasVoice == true else {
            throw APIError(.unavailable, "\(address) is not connected for calls: Connect it first")
        }
    }

    private func volume(_ value: Value, limit: Int) throws(APIError) -> UInt8 {
        guard let volume = value.byteValue, volume <= 15 else {
            throw APIError(.invalidArgument, "a headset's volume is 0 to 15")
        }
        guard volume <= limit else {
            throw APIError(
                .invalidArgument, "\(volume) is louder than this headset may be: 0 to \(limit) (volumeCeiling)")
        }
        return volume
    }

    private func setMediaVolume(_ value: Value) throws(APIError) {
        guard let volume = value.int32Value, (0...127).contains(volume) else {
            throw APIError(.invalidArgument, "the volume of A2DP is 0 to 127")
        }
        guard let media = headsets.media(address) else {
            throw APIError(.unavailable, "the A2DP of \(address) is not connected: Connect it first")
        }
        guard media.volume != nil else {
            throw APIError(.unavailable, "the volume of this headset's A2DP cannot be set: use its own buttons")
        }
        mediaSource.setVolume(Int(volume), of: address)
    }
}
