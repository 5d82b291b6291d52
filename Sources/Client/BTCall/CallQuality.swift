import BTCallAPI

/// Quality of a call's audio over a period: what the devices lost or delayed, and a score.
public struct CallQuality: Hashable, Sendable {
    /// 0…100; nil when unknown.
    public let score: Int?
    /// Length of the period; time on hold is not counted.
    public let durationMs: Int
    /// Packets received from headsets, and those that were damaged or missing.
    public let packets: Int
    public let lost: Int
    /// Audio synthesised for lost or late packets.
    public let concealedMs: Int
    /// Audio lost on the daemon's side: a queue ran empty or overflowed.
    public let droppedMs: Int
    /// Number of times a link fell silent.
    public let gaps: Int
    /// Irregularity of packet arrival: mean deviation of the intervals.
    public let jitterMs: Double
    /// Excess speed of the sound card's clock; 0 for a link, which is the clock itself.
    public let driftPPM: Double
    /// Link set-ups that had to be repeated.
    public let retries: Int
    /// Number of times a sound card's buffer ran empty or overflowed.
    public let xruns: Int

    init(_ description: QualityDescription) {
        score = description.score
        durationMs = Self.figure(description.durationMs)
        packets = Self.figure(description.packets)
        lost = Self.figure(description.lost)
        concealedMs = Self.figure(description.concealedMs)
        droppedMs = Self.figure(description.droppedMs)
        gaps = Self.figure(description.gaps)
        jitterMs = description.jitterMs
        driftPPM = description.driftPPM
        retries = Self.figure(description.retries)
        xruns = Self.figure(description.xruns)
    }

    /// At most 2^53, so that sums and products of a daemon's figures cannot overflow.
    private static func figure(_ number: UInt64) -> Int { Int(min(number, 1 << 53)) }
}

/// The device that carries a call's audio.
public struct CallLink: Hashable, Sendable {
    public let device: DeviceChoice
    /// The controller's handle of the synchronous connection; nil for a sound card, or when the kernel does not report it.
    public let handle: Int?
    /// Nil for a sound card.
    public let codec: String?
    /// Size of received packets in bytes; nil for a sound card and before the first packet.
    public let packetBytes: Int?

    init(_ description: CallLinkDescription) {
        device = DeviceChoice(word: description.device)
        handle = description.handle.map { Int($0) }
        codec = description.codec
        packetBytes = description.packetBytes == 0 ? nil : Int(description.packetBytes)
    }
}
