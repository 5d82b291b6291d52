package import DBus

/// What a device did to the audio of a call while it carried it: `Call1.QualityParts` and `QualityTotal`.
package struct QualityDescription: Hashable, Sendable {
    /// 0…100; nil when it is not known.
    package var score: Int?
    /// How long it was watched.
    package var durationMs: UInt64 = 0
    /// Packets that came; none for a sound card.
    package var packets: UInt64 = 0
    /// Packets that came damaged, or not at all.
    package var lost: UInt64 = 0
    /// Audio that was made up for what was lost or late.
    package var concealedMs: UInt64 = 0
    /// Audio that did not get through on our side.
    package var droppedMs: UInt64 = 0
    /// Times at which a link fell silent.
    package var gaps: UInt64 = 0
    /// How irregularly packets came, as a mean deviation.
    package var jitterMs = 0.0
    /// By how much faster the clock of the sound card is; 0 for a link.
    package var driftPPM = 0.0
    /// Set-ups of a link that had to be tried again.
    package var retries: UInt64 = 0
    /// Times at which a sound card's buffer ran dry or over.
    package var xruns: UInt64 = 0

    package init() {}

    package init(_ fields: Fields) throws(APIError) {
        score = try fields.optionalInteger("score").flatMap { (0...100).contains($0) ? $0 : nil }
        durationMs = try fields.optionalInteger("durationMs") ?? 0
        packets = try fields.optionalInteger("packets") ?? 0
        lost = try fields.optionalInteger("lost") ?? 0
        concealedMs = try fields.optionalInteger("concealedMs") ?? 0
        droppedMs = try fields.optionalInteger("droppedMs") ?? 0
        gaps = try fields.optionalInteger("gaps") ?? 0
        jitterMs = try fields.optionalDouble("jitterMs") ?? 0
        driftPPM = try fields.optionalDouble("driftPPM") ?? 0
        retries = try fields.optionalInteger("retries") ?? 0
        xruns = try fields.optionalInteger("xruns") ?? 0
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "score": .number(score),
            "durationMs": .uint64(durationMs),
            "packets": .uint64(packets),
            "lost": .uint64(lost),
            "concealedMs": .uint64(concealedMs),
            "droppedMs": .uint64(droppedMs),
            "gaps": .uint64(gaps),
            "jitterMs": .double(jitterMs),
            "driftPPM": .double(driftPPM),
            "retries": .uint64(retries),
            "xruns": .uint64(xruns),
        ])
    }
}

/// What carries the audio of a call: `Call1.Link`.
package struct CallLinkDescription: Hashable, Sendable {
    package var device: DeviceWord
    /// The controller's number of the synchronous connection; nil for a sound card.
    package var handle: UInt16?
    /// Nil for a sound card.
    package var codec: String?
    /// Of what is received; 0 before the first packet and for a sound card.
    package var packetBytes: UInt32

    package init(device: DeviceWord, handle: UInt16? = nil, codec: String? = nil, packetBytes: UInt32 = 0) {
        self.device = device
        self.handle = handle
        self.codec = codec
        self.packetBytes = packetBytes
    }

    package init(_ fields: Fields) throws(APIError) {
        device = try fields.device("device")
        handle = try fields.optionalInteger("handle", as: Int32.self).flatMap { UInt16(exactly: $0) }
        codec = try fields.optionalString("codec")?.nonEmpty
        packetBytes = try fields.optionalInteger("packetBytes") ?? 0
    }

    package var fields: [String: Value] {
        [String: Value](present: [
            "device": .string(device.description),
            "handle": .number(handle.map { Int($0) }),
            "codec": .text(codec),
            "packetBytes": packetBytes > 0 ? .uint32(packetBytes) : nil,
        ])
    }
}
