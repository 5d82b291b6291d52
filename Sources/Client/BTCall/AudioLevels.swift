import BTCallAPI

/// Loudness of the two directions of the calls.
public struct AudioLevels: Hashable, Sendable {
    /// Decibels below full scale: -96 (digital silence) to 0. A sine at full scale has an RMS of -3.
    public struct Level: Hashable, Sendable {
        /// Peak; decays by 14 dB a second.
        public let peakDecibels: Double
        /// Mean over about 0.3 s.
        public let rmsDecibels: Double
    }

    /// Audio for the person, before the device's own volume.
    public let heard: Level
    /// Audio for the far end, after muting and the microphone volume.
    public let said: Level

    init(_ description: LevelsDescription) {
        heard = Level(peakDecibels: description.heard.peak, rmsDecibels: description.heard.rms)
        said = Level(peakDecibels: description.said.peak, rmsDecibels: description.said.rms)
    }
}

extension BridgeAudio {
    /// Present loudness of the calls; nil while they exchange no audio.
    ///
    /// A request starts the measurement, which stops 2 s after the last request; the first answer is therefore nil, too. Any
    /// number of programs may measure at the same time.
    public func levels() async throws(BridgeError) -> AudioLevels? {
        let name = BTCallName.Audio.levels
        let reply = try await connection.request(BTCallPath.audio, BTCallName.Interface.audio, name)
        let fields = try await connection.fields(reply.first, of: name)
        return try decoding { () throws(APIError) in try LevelsDescription(fields).map { AudioLevels($0) } }
    }
}
