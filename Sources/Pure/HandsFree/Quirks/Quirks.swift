package import BluetoothTypes

/// Special treatment of one headset. Each field names the symptom it cures; all off for a new headset.
///
/// `QuirkEffect` makes each field a key of the quirks database and of `[headset ADDRESS]` in the configuration.
package struct Quirks: Hashable, Sendable {
    /// Bits to leave out of +BRSF for headsets that break on them: new profile versions, codec negotiation, HF indicators.
    package var maskedFeatures: AudioGatewayFeatures = []
    /// The headset ignores or mishandles +VGM.
    package var noMicrophoneVolume = false
    /// Codecs that the headset offers but does not support, or that the adapter cannot carry.
    package var brokenCodecs: Set<VoiceCodec> = []
    /// Time for the whole service level connection; nil: as configured. For slow car kits.
    package var setUpSeconds: Int?
    /// Minimum time in milliseconds between the service level connection or the answer of a call and the audio link; nil: as
    /// configured. A link that opens too early fails or pops; some headsets do not accept one at all (docs/inside/Interop.md
    /// B4).
    package var audioDelayMilliseconds: Int?
    /// The headset refuses the first audio link: the same codec is retried once after `CodecNegotiation.retryTime`
    /// (docs/inside/Interop.md B3).
    package var refusesFirstAudio = false
    /// The headset forgets its volume when the audio link opens: it is sent again 1.5 s later, whatever the
    /// configuration says, also over what the headset reports in the first 0.5 s (docs/inside/Interop.md B22).
    package var forgetsVolume = false
    /// The headset ignores +VGS, or loses it at any time: none is sent, and btcalld applies the volume
    /// (docs/inside/Interop.md B21).
    package var softwareVolume = false
    /// The headset accepts only a telephone of this name (+XAPL, docs/inside/Interop.md A12); nil: as configured.
    package var appleName: String?
    /// The headset mistakes a second call listed as incoming for the first: AT+CLCC lists it as waiting
    /// (docs/inside/Interop.md A25).
    package var secondCallWaits = false
    /// The headset forgets a waiting call when the active one ends: it is reported again, `AudioGateway.reminderTime` later
    /// (docs/inside/Interop.md A25).
    package var forgetsWaitingCall = false

    package init() {}

    /// Gain that replaces a headset's volume of 0…15: from silence to unchanged, in perceptually even steps.
    package static func softwareGain(_ volume: Int) -> Float {
        let part = Float(min(max(volume, 0), 15)) / 15
        return part * part
    }
}
