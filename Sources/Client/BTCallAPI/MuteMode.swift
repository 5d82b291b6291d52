/// What muting the calls takes from the far end, in the words of `Audio1.MuteMode`.
package enum MuteMode: String, Hashable, Sendable, CaseIterable {
    /// Everything: digital silence.
    case voiceProcessing
    /// Everything, and the capture stream of a sound card is closed meanwhile.
    case restart
    /// The microphone, before applications add to it: what they add is still heard.
    case inputMixer
}
