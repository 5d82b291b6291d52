package import BluetoothTypes

/// What one headset needs to be treated differently. Each field names the symptom it cures; all off for a new headset.
///
/// `QuirkEffect` makes each field a key of the quirks database and of `[headset ADDRESS]` in the configuration.
package struct Quirks: Hashable, Sendable {
    /// Bits to leave out of +BRSF for headsets that break on them: new profile versions, codec negotiation, HF indicators.
    package var maskedFeatures: AudioGatewayFeatures = []
    /// Ignores or mishandles +VGM.
    package var noMicrophoneVolume = false
    /// Codecs that the headset offers and cannot do, or that the adapter cannot carry.
    package var brokenCodecs: Set<VoiceCodec> = []
    /// Time for the whole service level connection; nil: the configured one. Slow car kits.
    package var setUpSeconds: Int?
    /// Least time in milliseconds between the service level connection or the answer of a call and the audio link; nil: the
    /// configured one. An audio link that comes too soon fails or pops; some want none at all (docs/inside/Interop.md B4).
    package var audioDelayMilliseconds: Int?
    /// Refuses the first audio link: the same codec is tried once more after `CodecNegotiation.retryTime` (docs/inside/Interop.md B3).
    package var refusesFirstAudio = false
    /// Forgets its volume when the audio link comes up: it is sent again 1.5 s later, whatever the configuration says
    /// (docs/inside/Interop.md B22).
    package var forgetsVolume = false
    /// Does nothing with +VGS, or loses it at any time: none is sent, and the volume is made here (docs/inside/Interop.md B21).
    package var softwareVolume = false
    /// Talks only to a telephone of this name (+XAPL, docs/inside/Interop.md A12); nil: the configured one.
    package var appleName: String?
    /// Takes a second call that is listed as incoming for the first: AT+CLCC lists it as waiting (docs/inside/Interop.md A25).
    package var secondCallWaits = false
    /// Forgets a call that waits when the active one ends: it is told of it once more, `AudioGateway.reminderTime` later
    /// (docs/inside/Interop.md A25).
    package var forgetsWaitingCall = false

    package init() {}

    /// The gain that stands in for a headset's volume of 0…15: silence to unchanged, in steps that are even to the ear.
    package static func softwareGain(_ volume: Int) -> Float {
        let part = Float(min(max(volume, 0), 15)) / 15
        return part * part
    }
}
