import BTCallAPI

/// What the devices did to the audio of a call over a time, and the figure that comes of it.
public struct CallQuality: Hashable, Sendable {
    /// 0…100; nil when it is not known.
    public let score: Int?
    /// Over how long; a call on hold is not counted.
    public let durationMs: Int
    /// Packets that came from headsets, and those that came damaged or not at all.
    public let packets: Int
    public let lost: Int
    /// Audio that was made up for what was lost or late.
    public let concealedMs: Int
    /// Audio that did not get through on the daemon's side: a queue ran dry, or over.
    public let droppedMs: Int
    /// Times at which a link fell silent.
    public let gaps: Int
    /// How irregularly packets came: the mean deviation of the times between them.
    public let jitterMs: Double
    /// By how much faster the sound card's clock is; 0 for a link, which is the clock itself.
    public let driftPPM: Double
    /// Set-ups of a link that had to be tried again.
    public let retries: Int
    /// Times at which a sound card's buffer ran dry or over.
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

    /// At most 2^53, so that sums and products of what a daemon says are numbers still.
    private static func figure(_ number: UInt64) -> Int { Int(min(number, 1 << 53)) }
}

/// What carries the audio of a call.
public struct CallLink: Hashable, Sendable {
    public let device: DeviceChoice
    /// The controller's number of the synchronous connection; nil for a sound card, or when the kernel does not tell.
    public let handle: Int?
    /// Nil for a sound card.
    public let codec: String?
    /// Bytes of the packets received; nil for a sound card and before the first one.
    public let packetBytes: Int?

    init(_ description: CallLinkDescription) {
        device = DeviceChoice(word: description.device)
        handle = description.handle.map { Int($0) }
        codec = description.codec
        packetBytes = description.packetBytes == 0 ? nil : Int(description.packetBytes)
    }
}
