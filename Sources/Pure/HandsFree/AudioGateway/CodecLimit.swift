package import BluetoothTypes

/// Why the best codec of ours is not used with a headset.
package enum CodecLimit: Hashable, Sendable {
    /// The Headset Profile has CVSD alone.
    case headsetProfile
    /// We are to offer nothing better than CVSD.
    case notOffered
    /// The headset offers nothing better than CVSD, or does not agree on codecs at all.
    case headset
    /// A quirk says that the headset cannot do this codec.
    case quirk(VoiceCodec)
    /// The adapter cannot carry this codec.
    case adapter(VoiceCodec)
    /// This codec failed in so many connections in a row; 0: in this one alone.
    case failed(VoiceCodec, connections: Int)
    /// The headset left +BCS without an answer in so many connections in a row.
    case unanswered(connections: Int)
}

extension CodecNegotiation {
    /// Nil while nothing keeps our best codec from being tried.
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
    /// Why the best codec of ours is not used; nil before the service level connection and while it is.
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

    /// A person wants all codecs to be tried again: from the next audio connection on they are.
    package mutating func forgetCodecs() {
        audio.forget()
    }
}
