import BTCallAPI
import DBus

// What the person at the box hears beside the calls.
extension BridgeAudio {
    /// Who hears something that is played.
    public enum Hearer: String, Hashable, Sendable, CaseIterable {
        /// The far end of all active calls, with the microphone.
        case call
        /// Whoever is near the device that rings.
        case ring
        /// Whoever hears the calls here, over them; without a call, whoever is near the device for announcements.
        case page
    }

    /// Plays audio until its descriptor is closed. While nobody can hear it, writing waits.
    ///
    /// - Parameters:
    ///   - hearer: `call` is the same as ``openInjection(rate:sampleFormat:channels:isStream:)``; the other parameters then
    ///     have no meaning.
    ///   - priority: 0…10; of what is heard at the same place only the highest is. It rings with 5.
    ///   - duckDecibels: how much the far end of the calls is lowered meanwhile, -90…0; nil is -12 for a page, else 0.
    ///   - isMixable: heard together with others of its priority; else it silences them.
    /// - Throws: `.invalidArgument` for what is not accepted, `.wrongState` when too many programs play or the box does not
    ///   ring.
    public func play(
        to hearer: Hearer, rate: Int = 16000, sampleFormat: CallAudio.SampleFormat = .s16, channels: Int = 1,
        isStream: Bool = false, priority: Int = 5, duckDecibels: Double? = nil, isMixable: Bool = true
    ) async throws(BridgeError) -> AudioInjection {
        let format = AudioFormat(rate: rate, sample: sampleFormat.sample, channels: channels)
        let wish = PlaybackWish(
            hearer.destination, priority: priority, duckDecibels: duckDecibels, isMixable: isMixable)
        var options = format.options.merging(wish.options) { $1 }
        options["stream"] = .bool(isStream)
        // What does not fit its type is for the daemon to refuse, by its name.
        options["priority"] = .int32(Int32(clamping: priority))
        return try await open(BTCallName.Audio.openPlayback, options, format, isStream: isStream)
    }
}

extension BridgeAudio.Hearer {
    var destination: PlaybackWish.Destination {
        switch self {
        case .call: .call
        case .ring: .ring
        case .page: .page
        }
    }
}
