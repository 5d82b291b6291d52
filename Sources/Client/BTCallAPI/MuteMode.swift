/// The audio that muting takes from the far end, in the words of `Audio1.MuteMode`.
package enum MuteMode: String, Hashable, Sendable, CaseIterable {
    /// Everything: digital silence.
    case voiceProcessing
    /// Everything; a sound card's capture stream is also closed meanwhile.
    case restart
    /// The microphone, before applications add to it: the far end still hears what they add.
    case inputMixer
}
