import BTCallAPI

/// How loud the two directions of the calls are.
public struct AudioLevels: Hashable, Sendable {
    /// In decibels below full scale: -96, which is digital silence, to 0. A sine as loud as possible has an RMS of -3.
    public struct Level: Hashable, Sendable {
        /// The loudest sample; it falls by 14 dB a second.
        public let peakDecibels: Double
        /// The mean over some 0.3 s.
        public let rmsDecibels: Double
    }

    /// What the person hears, before the device's own volume.
    public let heard: Level
    /// What the far end hears, after muting and the microphone's volume.
    public let said: Level

    init(_ description: LevelsDescription) {
        heard = Level(peakDecibels: description.heard.peak, rmsDecibels: description.heard.rms)
        said = Level(peakDecibels: description.said.peak, rmsDecibels: description.said.rms)
    }
}

extension BridgeAudio {
    /// How loud the calls are now; nil while they exchange no audio.
    ///
    /// Asking begins the measuring, which ends 2 s after the last time: the first answer is nil as well. Any number of programs
    /// may look at the same time.
    public func levels() async throws(BridgeError) -> AudioLevels? {
        let name = BTCallName.Audio.levels
        let reply = try await connection.request(BTCallPath.audio, BTCallName.Interface.audio, name)
        let fields = try await connection.fields(reply.first, of: name)
        return try decoding { () throws(APIError) in try LevelsDescription(fields).map { AudioLevels($0) } }
    }
}
