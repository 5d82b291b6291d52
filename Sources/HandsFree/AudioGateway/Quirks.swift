package import BluetoothTypes

/// What one headset needs to be treated differently. Each field names the symptom it cures; all off for a new headset.
package struct Quirks: Hashable, Sendable {
    /// Bits to leave out of +BRSF for headsets that break on them: new profile versions, codec negotiation, HF indicators.
    package var maskedFeatures: AudioGatewayFeatures
    /// Ignores or mishandles +VGM.
    package var noMicrophoneVolume: Bool
    /// Codecs that the headset offers and cannot do.
    package var brokenCodecs: Set<VoiceCodec>
    /// Time for the whole service level connection; nil: the configured one. Slow car kits.
    package var setUpSeconds: Int?

    package init(
        maskedFeatures: AudioGatewayFeatures = [], noMicrophoneVolume: Bool = false, brokenCodecs: Set<VoiceCodec> = [],
        setUpSeconds: Int? = nil
    ) {
        self.maskedFeatures = maskedFeatures
        self.noMicrophoneVolume = noMicrophoneVolume
        self.brokenCodecs = brokenCodecs
        self.setUpSeconds = setUpSeconds
    }
}
