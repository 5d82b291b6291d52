package import BTCall

/// What a person chooses for a sandbox.
package struct SandboxOptions: Equatable, Sendable {
    /// Absolute path of the socket for programs on the ALSA PCM `btcall`; nil: there is no PCM.
    package var pcmSocket: String?
    /// Folder for a recording of each device's playback; nil: nothing is recorded.
    package var recordings: String?
    /// Frequency in Hz of the tone that people at the devices hum; nil: they speak.
    package var tone: Int?
    /// How the far end hears the person, with talk keys on the devices; nil: always, without them.
    package var talk: TalkMode?
    /// Accepted values of ``tone``: what the narrowest codec carries.
    package static let tones = 100...3400

    package init(
        pcmSocket: String? = nil, recordings: String? = nil, tone: Int? = nil, talk: TalkMode? = nil
    ) {
        self.pcmSocket = pcmSocket
        self.recordings = recordings
        self.tone = tone
        self.talk = talk
    }
}
