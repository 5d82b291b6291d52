import BTCallAPI
import DBus

/// Audio beside the calls: for their far end, with the microphone and with a volume for each, and for the person here.
public final class BridgeAudio: Sendable {
    /// The audio that muting takes from the far end.
    public enum MuteMode: String, Hashable, Sendable, CaseIterable {
        /// Everything: digital silence.
        case voiceProcessing
        /// Everything; a sound card's microphone is also closed meanwhile, and a headset is sent silence.
        case restart
        /// The microphone; the far end still hears what applications add.
        case inputMixer
    }

    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Adds audio to the microphone until its descriptor is closed. Writing blocks while there is no active call. Audio
    /// still queued when the last call ends or is held is discarded.
    ///
    /// - Parameters:
    ///   - rate: 8000, 16000, 24000, 32000, 44100 or 48000 Hz.
    ///   - channels: 1, or 2 whose mean is used.
    ///   - isStream: the same bytes without message boundaries, for a program that writes to a pipe.
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

    /// Volume of the microphone: 0…1, linear; 1 leaves it unchanged.
    public func microphoneVolume() async throws(BridgeError) -> Double { try await volume(BTCallName.Audio.micVolume) }

    /// Sets ``microphoneVolume()``. Kept over restarts.
    ///
    /// - Parameter volume: 0…1, where 0 is digital silence.
    /// - Throws: `.invalidArgument` for another number.
    public func setMicrophoneVolume(_ volume: Double) async throws(BridgeError) {
        try await set(BTCallName.Audio.micVolume, .double(volume))
    }

    /// Volume of the audio that applications add: 0…1, linear; 1 leaves it unchanged.
    public func applicationVolume() async throws(BridgeError) -> Double { try await volume(BTCallName.Audio.appVolume) }

    /// Sets ``applicationVolume()``. Kept over restarts.
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

    /// Sets ``muteMode()``. Kept over restarts.
    public func setMuteMode(_ mode: MuteMode) async throws(BridgeError) {
        try await set(BTCallName.Audio.muteMode, .string(mode.rawValue))
    }

    /// The same as ``setMuteMode(_:)``, under the name that other voice kits have.
    public func set(microphoneMuteMode mode: MuteMode) async throws(BridgeError) { try await setMuteMode(mode) }

    private func volume(_ name: String) async throws(BridgeError) -> Double {
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        return try decoding { () throws(APIError) in try fields.optionalDouble(name) ?? 1 }
    }

    func set(_ name: String, _ value: Value) async throws(BridgeError) {
        try await connection.setProperty(BTCallPath.audio, BTCallName.Interface.audio, name, value)
    }
}

/// A socket for the audio that an application adds to the microphone: at most one message for each 10 ms, or a stream.
///
/// Write as fast as the socket accepts: it blocks the writer. When it is closed during a call, the written audio is still
/// sent. After a shutdown of the writing direction, a read returns 0 once the far end has heard everything, or the call has
/// ended.
public typealias AudioInjection = AudioSocket
