import BTCallAPI
import DBus

/// What is heard beside the calls: by their far end with the microphone, and how loud each of the two is; and by the person here.
public final class BridgeAudio: Sendable {
    /// What muting takes from the far end.
    public enum MuteMode: String, Hashable, Sendable, CaseIterable {
        /// Everything: digital silence.
        case voiceProcessing
        /// Everything, and a sound card's microphone is really closed meanwhile; a headset is sent silence.
        case restart
        /// The microphone; what applications add is still heard.
        case inputMixer
    }

    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Adds audio to the microphone until its descriptor is closed. While there is no active call, writing waits; what has been
    /// written when the last call ends or is held is thrown away.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 frames per second.
    ///   - channels: 1 or 2, of which the mean is taken.
    ///   - isStream: the same bytes without borders between messages, for a program that writes to a pipe.
    /// - Throws: `.invalidArgument` for another format, `.wrongState` when too many programs do so.
    public func openInjection(
        rate: Int = 16000, sampleFormat: CallAudio.SampleFormat = .s16, channels: Int = 1, isStream: Bool = false
    ) async throws(BridgeError) -> AudioInjection {
        let format = AudioFormat(rate: rate, sample: sampleFormat.sample, channels: channels)
        var options = format.options
        options["stream"] = .bool(isStream)
        return try await open(BTCallName.Audio.openInjection, options, format, isStream: isStream)
    }

    func open(
        _ member: String, _ options: [String: Value], _ format: AudioFormat, isStream: Bool
    ) async throws(BridgeError) -> AudioInjection {
        let answer = try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, member, [.vardict(options)])
        return try Self.socket(answer, 0, of: member, format, isStream: isStream)
    }

    /// 0…1, linear; 1 leaves the microphone as it is.
    public func microphoneVolume() async throws(BridgeError) -> Double { try await volume(BTCallName.Audio.micVolume) }

    /// Sets ``microphoneVolume()``; it is kept over restarts.
    ///
    /// - Parameter volume: 0…1, where 0 is digital silence.
    /// - Throws: `.invalidArgument` for another number.
    public func setMicrophoneVolume(_ volume: Double) async throws(BridgeError) {
        try await set(BTCallName.Audio.micVolume, .double(volume))
    }

    /// 0…1, linear; 1 leaves what applications add as it is.
    public func applicationVolume() async throws(BridgeError) -> Double { try await volume(BTCallName.Audio.appVolume) }

    /// Sets ``applicationVolume()``; it is kept over restarts.
    ///
    /// - Parameter volume: 0…1, where 0 is digital silence.
    /// - Throws: `.invalidArgument` for another number.
    public func setApplicationVolume(_ volume: Double) async throws(BridgeError) {
        try await set(BTCallName.Audio.appVolume, .double(volume))
    }

    /// - Throws: `.failed` for a mode that this version does not know.
    public func muteMode() async throws(BridgeError) -> MuteMode {
        let name = BTCallName.Audio.muteMode
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        let word = try decoding { () throws(APIError) in try fields.string(name) }
        guard let mode = MuteMode(rawValue: word) else {
            throw BridgeError(.failed, "btcalld has the mute mode \"\(word)\", which this library does not know")
        }
        return mode
    }

    /// Sets ``muteMode()``; it is kept over restarts.
    public func setMuteMode(_ mode: MuteMode) async throws(BridgeError) {
        try await set(BTCallName.Audio.muteMode, .string(mode.rawValue))
    }

    private func volume(_ name: String) async throws(BridgeError) -> Double {
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        return try decoding { () throws(APIError) in try fields.optionalDouble(name) ?? 1 }
    }

    func set(_ name: String, _ value: Value) async throws(BridgeError) {
        try await connection.setProperty(BTCallPath.audio, BTCallName.Interface.audio, name, value)
    }
}

/// A socket for what an application adds to the microphone: one message for each 10 ms at most, or a stream.
///
/// Write as fast as it takes: it makes the writer wait. When it is closed in a call, what was written is still said. After a
/// shutdown of its writing direction a read returns 0 once the far end has heard everything, or the call is over.
public typealias AudioInjection = AudioSocket
