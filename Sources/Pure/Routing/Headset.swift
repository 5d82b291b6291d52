import BluetoothTypes

/// The policy's facts about one headset.
struct Headset: Hashable, Sendable {
    let address: BluetoothAddress
    /// Index in the configured order; nil when not listed.
    var place: Int?
    /// The configuration forbids its use.
    var isExcluded = false
    var category = ClassOfDevice.Category.headset
    var supportsInbandRing = true
    /// It declines calls that its wearer did not send there.
    var declinesCalls = false

    /// Its link is open only while somebody talks, and nobody does.
    var isResting = false

    /// Reported profiles. They survive a powered-off adapter: a profile not reported as down is up again with it.
    var hfp = false
    var a2dp = false

    /// When it became usable; nil while it is not.
    var attachedAt: Instant?
    /// When it will have been stable for long enough to take a running call.
    var readyAt = Instant.zero
    /// When that time began.
    var settlesSince = Instant.zero
    /// An explicit instruction named it, so the current headset's dwell does not apply.
    var dwellWaived = false
    /// The same for the switch limit, while its link is being set up for that instruction.
    var limitWaived = false

    /// Times at which it vanished during a call, the latest last.
    var losses = RecentTimes()
    /// Times of link losses.
    var drops = RecentTimes()
    /// Times at which its link fell silent.
    var silences = RecentTimes()
    /// Times at which it automatically took a call.
    var switchIns = RecentTimes()

    /// Failed attempts since the last link that lasted.
    var attempts = 0
    var retryAt: Instant?
    var penaltyUntil: Instant?
    /// Rounds of failed attempts; each doubles the pause.
    var penalties = 0
    /// Number of attempts that led to the penalty, and result of the last one.
    var failedAttempts = 0
    var lastFailure = LinkFailure.failed

    var link = LinkState.closed
    /// No longer paired: removed once its loss has been processed.
    var isForgotten = false

    init(address: BluetoothAddress) {
        self.address = address
    }

    /// Records that the link has closed, whichever side closed it; a link that lasted clears the failed attempts before it.
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

/// Link of one headset. At most one is not `closed`, apart from links that headsets open themselves.
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
        /// Whether the headset opened the link, not btcalld.
        var isByHeadset = false
        /// When the present silence was reported.
        var silentSince: Instant?
        /// After a silence: when packets resumed.
        var steadySince: Instant?
        /// After a silence: when packets will have been steady for long enough to use the link again.
        var steadyAt: Instant?

        var isHeldBack: Bool { silentSince != nil || steadyAt != nil }
    }

    case closed
    case opening(Opening)
    case open(Open)
    /// Also after a cancelled set-up.
    case closing(LinkMode)

    var isClosed: Bool { self == .closed }

    var opened: Open? {
        switch self {
        case .open(let open): open
        case .closed, .opening, .closing: nil
        }
    }

    /// Mode of the link, present, past or requested.
    var mode: LinkMode? {
        switch self {
        case .opening(let opening): opening.mode
        case .open(let open): open.mode
        case .closing(let mode): mode
        case .closed: nil
        }
    }
}
