import BluetoothTypes

/// What the policy knows of one headset.
struct Headset: Hashable, Sendable {
    let address: BluetoothAddress
    /// Its index in the configured order; nil when it is not listed.
    var place: Int?
    /// Whether the configuration forbids its use.
    var isExcluded = false
    var category = ClassOfDevice.Category.headset
    var supportsInbandRing = true
    /// It does not want calls that its wearer did not send there.
    var declinesCalls = false

    /// Reported profiles. They outlive a powered-off adapter: what got no down report is up again with it.
    var hfp = false
    var a2dp = false

    /// When it last became usable; nil while it is not.
    var attachedAt: Instant?
    /// When it has been stable for long enough to take a running call.
    var readyAt = Instant.zero
    /// When that time began.
    var settlesSince = Instant.zero
    /// Whether an explicit instruction asked for it, so that the present headset's dwell does not count.
    var dwellWaived = false
    /// The same for the switch limit, while its link is being set up for that instruction.
    var limitWaived = false

    /// Times at which it vanished in a call, the latest last.
    var losses = RecentTimes()
    /// Times of link losses.
    var drops = RecentTimes()
    /// Times at which its link fell silent.
    var silences = RecentTimes()
    /// Times at which it automatically took a call.
    var switchIns = RecentTimes()

    /// Failed attempts since the last link that lived.
    var attempts = 0
    var retryAt: Instant?
    var penaltyUntil: Instant?
    /// Rounds of failed attempts, each doubling the pause.
    var penalties = 0
    /// How many attempts led to the penalty, and how the last one ended.
    var failedAttempts = 0
    var lastFailure = LinkFailure.failed

    var link = LinkState.closed
    /// It is not paired any more: unknown as soon as its loss has been noticed.
    var isForgotten = false

    init(address: BluetoothAddress) {
        self.address = address
    }

    /// The link is closed, by whomever; one that has lived forgives the attempts before it.
    mutating func noteLinkGone(at now: Instant, livedFor life: Duration) {
        if let open = link.opened, open.since.duration(to: now) >= life { forgetFailures() }
        link = .closed
    }

    mutating func forgetFailures() {
        attempts = 0
        retryAt = nil
        penaltyUntil = nil
        penalties = 0
    }
}

/// The link of one headset. At most one headset's is not `closed`, apart from links that headsets open themselves.
enum LinkState: Hashable, Sendable {
    struct Opening: Hashable, Sendable {
        let mode: LinkMode
        let codecHint: VoiceCodec?
        let since: Instant
        let deadline: Instant
    }

    struct Open: Hashable, Sendable {
        let mode: LinkMode
        let since: Instant
        /// When the running silence was reported.
        var silentSince: Instant?
        /// After a silence: when packets came again.
        var steadySince: Instant?
        /// After a silence: when the link has carried packets for long enough to be used again.
        var steadyAt: Instant?

        var isHeldBack: Bool { silentSince != nil || steadyAt != nil }
    }

    case closed
    case opening(Opening)
    case open(Open)
    /// Also a cancelled set-up.
    case closing(LinkMode)

    var isClosed: Bool { self == .closed }

    var opened: Open? {
        switch self {
        case .open(let open): open
        case .closed, .opening, .closing: nil
        }
    }

    /// The mode that the link has, had or is getting.
    var mode: LinkMode? {
        switch self {
        case .opening(let opening): opening.mode
        case .open(let open): open.mode
        case .closing(let mode): mode
        case .closed: nil
        }
    }
}
