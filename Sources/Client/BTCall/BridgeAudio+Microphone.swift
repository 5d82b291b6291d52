import BTCallAPI
import DBus

// The microphone: whether calls use it, whether it is allowed and prepared, and whether somebody hears it now.
extension BridgeAudio {
    /// Whether the microphone may be heard.
    public enum MicrophoneAccess: String, Hashable, Sendable, CaseIterable {
        case allowed
        /// The configuration denies it: calls only receive.
        case denied
        /// Denied until ``BridgeAudio/allowMicrophone(_:)``.
        case waiting
    }

    /// The light or line that shows that a microphone is in use.
    public enum PrivacyOutput: String, Hashable, Sendable, CaseIterable {
        /// No output is configured.
        case none
        case off, on
        /// The output cannot be set: see the daemon's problems.
        case failed
    }

    /// Whether calls use a microphone: the setting `routing.microphoneEnabled`. When false, headsets are used over A2DP
    /// only.
    public func isMicrophoneEnabled() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.microphoneEnabled)
    }

    /// Sets ``isMicrophoneEnabled()``. Kept over restarts.
    public func setMicrophone(enabled: Bool) async throws(BridgeError) {
        try await set(BTCallName.Audio.microphoneEnabled, .bool(enabled))
    }

    /// Whether the board's microphone keeps running between calls, so that unmuting takes no time.
    public func isRecordingAlwaysPrepared() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.recordingAlwaysPrepared)
    }

    /// Sets ``isRecordingAlwaysPrepared()``. It holds over calls and stops of the router until the daemon ends; the key
    /// `audio.alwaysPrepared` sets the value at the daemon's start.
    ///
    /// - Throws: `.accessDenied` while the microphone is not allowed, `.notConfigured` when the board has none.
    public func setRecordingAlwaysPreparedMode(_ isPrepared: Bool) async throws(BridgeError) {
        try await set(BTCallName.Audio.recordingAlwaysPrepared, .bool(isPrepared))
    }

    /// Whether the prepared microphone already delivers samples.
    public func isPrepared() async throws(BridgeError) -> Bool { try await flag(BTCallName.Audio.prepared) }

    /// Whether samples of a microphone leave the daemon now.
    public func isMicrophoneInUse() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.microphoneInUse)
    }

    /// Whether the daemon also sets mixer controls: the key `audio.autoConfigure`.
    public func isAutomaticConfigurationEnabled() async throws(BridgeError) -> Bool {
        try await flag(BTCallName.Audio.automaticConfiguration)
    }

    /// - Throws: `.failed` for a word that this version does not know.
    public func microphoneAccess() async throws(BridgeError) -> MicrophoneAccess {
        let word = try await word(BTCallName.Audio.microphoneAccess)
        guard let access = MicrophoneAccess(rawValue: word) else {
            throw BridgeError(.failed, "btcalld has the access \"\(word)\", which this library does not know")
        }
        return access
    }

    /// Answers for the person, where `privacy.microphone` is `ask-client`.
    ///
    /// - Throws: `.accessDenied` where it is `deny`, `.wrongState` when withdrawing where it is `allow`.
    public func allowMicrophone(_ isAllowed: Bool) async throws(BridgeError) {
        try await connection.request(
            BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.allowMicrophone, [.bool(isAllowed)])
    }

    /// - Throws: `.failed` for a word that this version does not know.
    public func privacyOutput() async throws(BridgeError) -> PrivacyOutput {
        let word = try await word(BTCallName.Audio.privacyOutput)
        guard let state = PrivacyOutput(rawValue: word) else {
            throw BridgeError(.failed, "btcalld has the privacy output \"\(word)\", which this library does not know")
        }
        return state
    }

    private func word(_ name: String) async throws(BridgeError) -> String {
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        return try decoding { () throws(APIError) in try fields.string(name) }
    }

    private func flag(_ name: String) async throws(BridgeError) -> Bool {
        let fields = try await connection.property(BTCallPath.audio, BTCallName.Interface.audio, name)
        return try decoding { () throws(APIError) in try fields.bool(name) }
    }
}
