package import Routing

/// `[ring]`: what the board itself lets people hear of a call that is not answered yet, and where announcements sound.
package struct RingConfiguration: Equatable, Sendable {
    /// Whether the tone is made that says that the other party is rung.
    package enum Ringback: String, CaseIterable, Sendable {
        /// Until the other party's side has something to be heard.
        case auto
        case yes, no
    }

    /// Nil does not ring.
    package var device: LocalDevice? = .speakerphone
    /// An ALSA device of its own in place of that.
    package var playback: String?
    /// A headset in place of those.
    package var headset: OutputDevice?
    /// Where announcements sound without a call; nil is where it rings.
    package var pageDevice: LocalDevice?
    /// A headset in place of that.
    package var pageHeadset: OutputDevice?
    /// A WAV file; nil is the built-in tone.
    package var file: String?
    /// Of the built-in tone, milliseconds on, off, on, off …
    package var cadence = [1_000, 4_000]
    /// 0…100.
    package var volume = 70
    /// Of the tones in calls; nil makes none.
    package var tones: TonePlan? = .eu
    package var ringback = Ringback.auto

    package init() {}

    /// Nil does not ring.
    package var output: OutputDevice? {
        if let headset { return headset }
        return device == nil ? nil : playback.map { .pcm($0) } ?? device.map { .local($0) }
    }
    package var pageOutput: OutputDevice? { pageHeadset ?? pageDevice.map { .local($0) } ?? output }
    package var gain: Float { Float(volume) / 100 }
}

extension Configuration {
    /// Without a word in the file it rings on what the board has: not on the wired headset, which nobody may be wearing.
    package mutating func chooseRingDevice() {
        guard !givenSettings.contains("ring.device"), ring.playback == nil else { return }
        ring.device = [.speakerphone, .earpiece].first { playable.contains($0) }
    }

    /// Local devices that can be heard.
    package var playable: Set<LocalDevice> { Set(localDevices.filter { $0.value.playback != nil }.keys) }

    /// The key of `[ring]` that names a local device which cannot be heard, with that device.
    package var silentRingDevice: (key: String, device: LocalDevice)? {
        if case .local(let device) = ring.output, !playable.contains(device) { return ("device", device) }
        if let device = ring.pageDevice, !playable.contains(device) { return ("pageDevice", device) }
        return nil
    }
}
