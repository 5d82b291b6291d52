/// ``BridgeAudio`` by the name that voice kits have for such an object.
public typealias AudioManager = BridgeAudio

extension CallBridge {
    /// The same object as ``audio``. There is one for each bridge, and none for all.
    public var audioManager: AudioManager { audio }
}

// Names that voice kits have for what has another one here, and keys of the configuration that are their properties.
extension BridgeAudio {
    /// ``isMicrophoneEnabled()``; ``setMicrophone(enabled:)`` sets it.
    public var microphoneEnabled: Bool {
        get async throws(BridgeError) { try await isMicrophoneEnabled() }
    }

    /// ``isVoiceProcessingEnabled()``; ``setVoiceProcessingEnabled(_:)`` sets it.
    public var voiceProcessingEnabled: Bool {
        get async throws(BridgeError) { try await isVoiceProcessingEnabled() }
    }

    /// ``microphoneVolume()``; ``setMicVolume(_:)`` sets it.
    public var micVolume: Double {
        get async throws(BridgeError) { try await microphoneVolume() }
    }

    /// ``setMicrophoneVolume(_:)``.
    public func setMicVolume(_ volume: Double) async throws(BridgeError) {
        try await setMicrophoneVolume(volume)
    }

    /// ``applicationVolume()``; ``setAppVolume(_:)`` sets it.
    public var appVolume: Double {
        get async throws(BridgeError) { try await applicationVolume() }
    }

    /// ``setApplicationVolume(_:)``.
    public func setAppVolume(_ volume: Double) async throws(BridgeError) {
        try await setApplicationVolume(volume)
    }

    /// Whether other programs can use the sound cards of calls, too: the setting `audio.mixWithOthers`.
    public var mixWithOthers: Bool {
        get async throws(BridgeError) { try await connection.isSet(SettingKey.mixWithOthers) }
    }

    /// Sets ``mixWithOthers``, for each card when it is opened next. It is kept over restarts.
    public func setMixWithOthers(_ isMixable: Bool) async throws(BridgeError) {
        try await connection.set(SettingKey.mixWithOthers, isMixable)
    }

    /// Whether a headset that has A2DP is heard over that, with the board's microphone: the setting
    /// `routing.allowBluetoothA2DP`. Else headsets are used over HFP, unless ``microphoneEnabled`` is false.
    public var allowBluetoothA2DP: Bool {
        get async throws(BridgeError) { try await connection.isSet(SettingKey.allowBluetoothA2DP) }
    }

    /// Sets ``allowBluetoothA2DP``, at once. It is kept over restarts.
    public func setAllowBluetoothA2DP(_ isAllowed: Bool) async throws(BridgeError) {
        try await connection.set(SettingKey.allowBluetoothA2DP, isAllowed)
    }

    /// Whether no device is opened for calls at all: the setting `routing.manualRendering`.
    public var isManualRenderingMode: Bool {
        get async throws(BridgeError) { try await connection.isSet(SettingKey.manualRendering) }
    }

    /// Sets ``isManualRenderingMode``, at once, with or without a program that renders. It is kept over restarts.
    ///
    /// To render, ``openManual(rate:sampleFormat:channels:isStream:)`` is enough: no device is opened while it lasts.
    public func setManualRenderingMode(_ isEnabled: Bool) async throws(BridgeError) {
        try await connection.set(SettingKey.manualRendering, isEnabled)
    }
}

/// Keys that have a name of their own here.
enum SettingKey {
    static let exclude = "routing.exclude"
    static let allowBluetoothA2DP = "routing.allowBluetoothA2DP"
    static let manualRendering = "routing.manualRendering"
    static let mixWithOthers = "audio.mixWithOthers"
}

extension BridgeConnection {
    /// Whether a key that is yes or no is yes.
    func isSet(_ key: String) async throws(BridgeError) -> Bool {
        // Sections write it in one way or the other.
        ["yes", "true"].contains(try await setting(key).value)
    }

    func set(_ key: String, _ isOn: Bool) async throws(BridgeError) {
        try await setSetting(key, to: isOn ? "yes" : "no")
    }

    func setting(_ key: String) async throws(BridgeError) -> Setting {
        guard let setting = try await settings().first(where: { $0.key == key }) else {
            throw BridgeError(.notSupported, "this btcalld has no setting \(key): update it")
        }
        return setting
    }
}
