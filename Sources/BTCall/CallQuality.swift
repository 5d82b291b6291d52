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
        durationMs = Int(clamping: description.durationMs)
        packets = Int(clamping: description.packets)
        lost = Int(clamping: description.lost)
        concealedMs = Int(clamping: description.concealedMs)
        droppedMs = Int(clamping: description.droppedMs)
        gaps = Int(clamping: description.gaps)
        jitterMs = description.jitterMs
        driftPPM = description.driftPPM
        retries = Int(clamping: description.retries)
        xruns = Int(clamping: description.xruns)
    }
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
