/// Volumes of one headset, 0…15 each, where 15 is the loudest; nil until either side has set it.
package struct HeadsetVolumes: Hashable, Sendable {
    package var speaker: Int?
    package var microphone: Int?

    package init(speaker: Int? = nil, microphone: Int? = nil) {
        self.speaker = speaker
        self.microphone = microphone
    }
}
