import BTCallAPI
import DBus

// Audio for the person at the box, in addition to the calls.
extension BridgeAudio {
    /// The listeners of played audio.
    public enum Hearer: String, Hashable, Sendable, CaseIterable {
        /// The far end of all active calls, mixed with the microphone.
        case call
        /// Everybody near the device that rings.
        case ring
        /// The person on the calls, on top of them; without a call, everybody near the device for announcements.
        case page
    }

    /// Plays audio until its descriptor is closed. Writing blocks while nobody can hear it.
    ///
    /// - Parameters:
    ///   - hearer: `call` is the same as ``openInjection(rate:sampleFormat:channels:isStream:)``; the parameters after
    ///     `isStream` must then have their defaults.
    ///   - priority: 0…10; only the highest priority at the same place is heard. The ring tone has 5.
    ///   - duckDecibels: attenuation of the calls' far end meanwhile, -90…0; nil is -12 for a page, otherwise 0.
    ///   - isMixable: whether it is heard together with others of its priority; otherwise it silences them.
    /// - Throws: `.invalidArgument` for a value that is not accepted, `.wrongState` when too many programs play or the box
    ///   does not ring.
    public func play(
        to hearer: Hearer, rate: Int = 16000, sampleFormat: CallAudio.SampleFormat = .s16, channels: Int = 1,
        isStream: Bool = false, priority: Int = 5, duckDecibels: Double? = nil, isMixable: Bool = true
    ) async throws(BridgeError) -> AudioInjection {
        let format = AudioFormat(rate: rate, sample: sampleFormat.sample, channels: channels)
        let request = PlaybackRequest(
            hearer.destination, priority: priority, duckDecibels: duckDecibels, isMixable: isMixable)
        var options = format.options.merging(request.options) { $1 }
        options["stream"] = .bool(isStream)
        // A clamped value is out of range, too: the daemon refuses it by name.
        if hearer != .call || priority != 5 { options["priority"] = .int32(Int32(clamping: priority)) }
        if hearer == .call {
            // The daemon refuses what has no meaning there.
            if let duckDecibels { options["duck"] = .double(duckDecibels) }
            if !isMixable { options["mixable"] = .bool(false) }
        }
        return try await open(BTCallName.Audio.openPlayback, options, format, isStream: isStream)
    }
}

extension BridgeAudio.Hearer {
    var destination: PlaybackRequest.Destination {
        switch self {
        case .call: .call
        case .ring: .ring
        case .page: .page
        }
    }
}
