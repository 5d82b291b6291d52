package import BluetoothTypes

/// Reason why our best codec is not used with a headset.
package enum CodecLimit: Hashable, Sendable {
    /// The Headset Profile has only CVSD.
    case headsetProfile
    /// Our configuration offers nothing better than CVSD.
    case notOffered
    /// The headset offers nothing better than CVSD, or does not negotiate codecs.
    case headset
    /// A quirk excludes this codec for the headset.
    case quirk(VoiceCodec)
    /// The adapter cannot carry this codec.
    case adapter(VoiceCodec)
    /// This codec failed in this many consecutive connections; 0: only in this one.
    case failed(VoiceCodec, connections: Int)
    /// The headset did not answer +BCS in this many consecutive connections.
    case unanswered(connections: Int)
}

extension CodecNegotiation {
    /// Nil while our best codec can be tried.
    package var limit: CodecLimit? {
        guard ours.contains(where: { $0 != .cvsd }) else { return .notOffered }
        guard isSupported, let offered, let wanted = ours.first(where: { $0 != .cvsd && offered.contains($0) }) else {
            return .headset
        }
        if memory.isSelectionPointless(whileOffered: offered) { return .unanswered(connections: memory.unanswered) }
        if memory.lacking.contains(wanted) { return .adapter(wanted) }
        guard let ceiling, wanted.rawValue > ceiling.rawValue else { return nil }
        let isRemembered = memory.ceiling(whileOffered: offered) != nil
        return .failed(wanted, connections: isRemembered ? memory.failures : 0)
    }
}

extension AudioGateway {
    /// Reason why our best codec is not used; nil before the service level connection, and while that codec is used.
    package var codecLimit: CodecLimit? {
        guard isOpen, isEstablished else { return nil }
        guard !isHeadsetProfile else { return .headsetProfile }
        let broken = configuration.codecs.filter { codec in
            configuration.quirks.brokenCodecs.contains(codec) && audio.offered?.contains(codec) == true
        }
        let limit = audio.limit
        guard limit != nil, let best = broken.max(by: { $0.rawValue < $1.rawValue }), best != .cvsd else {
            return limit
        }
        return .quirk(best)
    }

    /// Lets all codecs be tried again on request, from the next audio connection on.
    package mutating func forgetCodecs() {
        audio.forget()
    }
}
