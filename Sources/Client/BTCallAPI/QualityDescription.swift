package import DBus

/// Quality of a call's audio on the device that carried it: `Call1.QualityParts` and `QualityTotal`.
package struct QualityDescription: Hashable, Sendable {
    /// 0…100; nil when unknown.
    package var score: Int?
    /// Length of the measured period.
    package var durationMs: UInt64 = 0
    /// Packets received; 0 for a sound card.
    package var packets: UInt64 = 0
    /// Packets that were damaged or missing.
    package var lost: UInt64 = 0
    /// Audio synthesised for lost or late packets.
    package var concealedMs: UInt64 = 0
    /// Audio lost on btcalld's side.
    package var droppedMs: UInt64 = 0
    /// Number of times a link fell silent.
    package var gaps: UInt64 = 0
    /// Irregularity of packet arrival, as a mean deviation.
    package var jitterMs = 0.0
    /// Excess speed of the sound card's clock; 0 for a link.
    package var driftPPM = 0.0
    /// Link set-ups that had to be repeated.
    package var retries: UInt64 = 0
    /// Number of times a sound card's buffer ran empty or overflowed.
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

/// The device that carries a call's audio: `Call1.Link`.
package struct CallLinkDescription: Hashable, Sendable {
    package var device: DeviceWord
    /// The controller's handle of the synchronous connection; nil for a sound card.
    package var handle: UInt16?
    /// Nil for a sound card.
    package var codec: String?
    /// Size of received packets in bytes; 0 before the first packet and for a sound card.
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
