import BTCallAPI

/// ``BridgeAudio`` under the name that voice kits use.
public typealias AudioManager = BridgeAudio

extension CallBridge {
    /// The same object as ``audio``. Each bridge has its own; none is shared by all.
    public var audioManager: AudioManager { audio }
}

// Voice kits' names for members with other names here, and for configuration keys that are properties there.
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

    /// Whether other programs can use the calls' sound cards at the same time: the setting `audio.mixWithOthers`.
    public var mixWithOthers: Bool {
        get async throws(BridgeError) { try await connection.isSet(SettingKey.mixWithOthers) }
    }

    /// Sets ``mixWithOthers``; acts on each card when it is opened next. Kept over restarts.
    public func setMixWithOthers(_ isMixable: Bool) async throws(BridgeError) {
        try await connection.set(SettingKey.mixWithOthers, isMixable)
    }

    /// Whether a headset with A2DP plays calls over A2DP, with the board's microphone: the setting
    /// `routing.allowBluetoothA2DP`. Otherwise headsets are used over HFP, unless ``microphoneEnabled`` is false.
    public var allowBluetoothA2DP: Bool {
        get async throws(BridgeError) { try await connection.isSet(SettingKey.allowBluetoothA2DP) }
    }

    /// Sets ``allowBluetoothA2DP``, at once. Kept over restarts.
    public func setAllowBluetoothA2DP(_ isAllowed: Bool) async throws(BridgeError) {
        try await connection.set(SettingKey.allowBluetoothA2DP, isAllowed)
    }

    /// Whether btcalld opens no device for calls at all: this or another program asks for that, renders the calls, or the
    /// setting `routing.manualRendering` is on.
    public var isManualRenderingMode: Bool {
        get async throws(BridgeError) {
            try await connection.isTrue(
                BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.manualRendering)
        }
    }

    /// Sets ``isManualRenderingMode``, at once, with or without a rendering program. It ends with this bridge and with this
    /// program, however that ends, and outlives a restart of btcalld.
    ///
    /// Switching off also resets the setting `routing.manualRendering`; devices stay closed while another program asks for
    /// that. To render, ``openManual(rate:sampleFormat:channels:isStream:)`` is enough: btcalld opens no device while its
    /// socket is open.
    public func setManualRenderingMode(_ isEnabled: Bool) async throws(BridgeError) {
        if isEnabled { return try await connection.manualMode.begin() }
        await connection.manualMode.end()
        if try await connection.isSet(SettingKey.manualRendering) {
            try await connection.set(SettingKey.manualRendering, false)
        }
    }
}

/// Configuration keys that have their own member here.
enum SettingKey {
    static let exclude = "routing.exclude"
    static let allowBluetoothA2DP = "routing.allowBluetoothA2DP"
    static let manualRendering = "routing.manualRendering"
    static let mixWithOthers = "audio.mixWithOthers"
}

extension BridgeConnection {
    /// Whether a yes-or-no key is yes.
    func isSet(_ key: String) async throws(BridgeError) -> Bool {
        // Some sections write "yes", others "true".
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
