package import Routing

/// `[ring]`: the sounds of the board itself before a call is answered, and the device for announcements.
package struct RingConfiguration: Equatable, Sendable {
    /// When the ringback tone is played.
    package enum Ringback: String, CaseIterable, Sendable {
        /// Until audio of the other party's side arrives (early media).
        case auto
        case yes, no
    }

    /// The ringing device; nil: none.
    package var device: LocalDevice? = .speakerphone
    /// A separate ALSA device that replaces it.
    package var playback: String?
    /// A headset that replaces both.
    package var headset: OutputDevice?
    /// The device for announcements without a call; nil: the ringing device.
    package var pageDevice: LocalDevice?
    /// A headset that replaces it.
    package var pageHeadset: OutputDevice?
    /// A WAV file; nil: the built-in tone.
    package var file: String?
    /// Cadence of the built-in tone in milliseconds: on, off, on, off …
    package var cadence = [1_000, 4_000]
    /// Volume, 0…100.
    package var volume = 70
    /// Plan of the tones in calls; nil: no tones.
    package var tones: TonePlan? = .eu
    package var ringback = Ringback.auto

    package init() {}

    /// The output that rings; nil: none.
    package var output: OutputDevice? {
        if let headset { return headset }
        return device == nil ? nil : playback.map { .pcm($0) } ?? device.map { .local($0) }
    }
    package var pageOutput: OutputDevice? { pageHeadset ?? pageDevice.map { .local($0) } ?? output }
    package var gain: Float { Float(volume) / 100 }
}

extension Configuration {
    /// Chooses the ringing device when the file names none: never the wired headset, because nobody may be wearing it.
    package mutating func chooseRingDevice() {
        guard !givenSettings.contains("ring.device"), ring.playback == nil else { return }
        ring.device = [.speakerphone, .earpiece].first { playable.contains($0) }
    }

    /// Local devices with playback.
    package var playable: Set<LocalDevice> { Set(localDevices.filter { $0.value.playback != nil }.keys) }

    /// The key of `[ring]` that names a local device without playback, with that device.
    package var silentRingDevice: (key: String, device: LocalDevice)? {
        if case .local(let device) = ring.output, !playable.contains(device) { return ("device", device) }
        if let device = ring.pageDevice, !playable.contains(device) { return ("pageDevice", device) }
        return nil
    }
}
