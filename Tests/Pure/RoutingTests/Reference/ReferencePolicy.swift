import BluetoothTypes
import Routing

/// A second, plain implementation of the routing rules, for comparison with the policy (docs/inside/Routing.md).
///
/// Level-triggered and slow: every event changes facts, then the target is computed from scratch and pursued until
/// nothing changes any more. It shares only the vocabulary of events and devices with the policy.
struct ReferencePolicy {
    /// A rule that is broken on purpose, to show that a comparison finds it.
    enum Mistake: String, CaseIterable, Sendable {
        case carrierDoesNotStay, headsetNeedNotSettle, transferIsIgnored, penaltyIsNotDoubled, plugIsNoGesture
        case everyRingIsInBand, dwellIsIgnored, parkedIsIgnored, choiceSurvivesCalls, silentLinkIsNotKept
    }

    struct Call {
        enum State { case ringing, dialing, active, held }

        let name: String
        var state: State
        var hasVideo: Bool
        var kinds: [DeviceKind]?
        /// Whether the call sends audio, so that it needs a microphone.
        var sends: Bool
        /// Headsets that closed their link while this call rang.
        var declined: Set<BluetoothAddress> = []
    }

    struct Link {
        enum State { case closed, opening, open, closing }

        var state = State.closed
        var mode = LinkMode.hfp
        /// When it was requested, or when it opened.
        var since = Instant.zero
        /// When its set-up times out.
        var timeout = Instant.zero
        var isOpenedByHeadset = false
        var silence: Silence?
    }

    /// No packet arrives on an open link, or packets arrive again but not yet for long enough.
    struct Silence {
        var since: Instant
        var resumed: Instant?
        /// How long packets must arrive until the link is used again.
        var steadyTime: Duration
    }

    struct Headset {
        var category = ClassOfDevice.Category.headset
        var hasInbandRing = true
        var profiles: Set<LinkMode> = []
        var attachedAt = Instant.zero
        var readyAt = Instant.zero
        var losses: [Instant] = []
        var drops: [Instant] = []
        var silences: [Instant] = []
        var automaticChanges: [Instant] = []
        var attempts = 0
        var retryAt: Instant?
        var penalties = 0
        var penaltyUntil: Instant?
        /// Whether an explicit instruction named it since it last carried a call.
        var isAskedFor = false
        var link = Link()
    }

    /// What a person chose for the present or next calls.
    struct Choice {
        enum Device: Equatable {
            case device(AudioDevice)
            case local
        }

        let device: Device
        let order: Int
        /// Watches and loudspeakers that a choice of any headset stands for.
        var others: Set<BluetoothAddress> = []
        var isByHook = false
    }

    enum Interruption { case none, begun, notResumed }

    /// What has to be done outside.
    enum Request: Hashable {
        case open(BluetoothAddress, LinkMode)
        case close(BluetoothAddress)
        case restore(BluetoothAddress)
    }

    let mistake: Mistake?
    var now = Instant.zero
    /// Of the event or timer that is being handled.
    var cause = RouteChangeReason.newDeviceAvailable
    var requests: [Request] = []
    /// Whether an event was handled, after which waits of no time at all are over.
    var isTickDue = false
    /// The first situation that the rules leave open; nothing after it can be compared.
    var openQuestion: (time: Instant, text: String)?

    // Life cycle and intent.
    var configuration: RoutingConfiguration
    var isStarted = false
    var preferred = AudioDevice.none
    var fallback = AudioDevice.none
    var choice: Choice?
    /// The place of the last plug that counts as a gesture among all gestures.
    var plug: Int?
    var gestures = 0
    var isMuted = false
    var error: RoutingError?

    // Facts.
    var transducers: Set<LocalDevice>
    var jack = JackState.empty
    var rawJack = JackState.empty
    var jackDue: Instant?
    /// The jack's path could not be opened.
    var isJackLost = false
    var wiredSince = Instant.zero
    var headsets: [BluetoothAddress: Headset] = [:]
    var isAdapterPowered = true
    var calls: [Call] = []

    // Session.
    var isSessionActive = false
    var interruption = Interruption.none
    var isParked = false

    // Actuation.
    var current: Route?
    var currentSince = Instant.zero
    var pending: Route?
    var wanted: Route?
    var wantedReason = RouteChangeReason.newDeviceAvailable
    /// Why the route last changed.
    var reason: RouteChangeReason?
    /// The headset that carries the calls, also in a gap that its link leaves.
    var carrier: BluetoothAddress?
    /// When the clock of the bridge started.
    var gapSince = Instant.zero
    /// A path is open from before: the clock starts when it closes, however short it was.
    var hasPathFromBefore = false
    /// Since when a path has been open without a gap.
    var openSince = Instant.zero
    var isPathDue = false
    /// When the link that is opened again was lost.
    var dropSince: Instant?
    var restoring: [BluetoothAddress] = []
    var restoreDue: Instant?

    init(configuration: RoutingConfiguration, transducers: Set<LocalDevice>, mistake: Mistake? = nil) {
        self.configuration = configuration
        self.transducers = transducers
        self.mistake = mistake
    }

    // MARK: Steps

    /// Handles an event completely; the requests are in the order in which they are made.
    mutating func handle(_ event: RoutingEvent, at time: Instant) -> [Request] {
        now = time
        cause = Self.cause(of: event)
        let usable = Set(usableHeadsets)
        take(event)
        noteAttachments(since: usable, isDown: Self.isDown(event))
        dropLostPath()
        settle()
        isTickDue = true
        return takeRequests()
    }

    /// Lets everything happen that is due at an instant.
    mutating func tick(at time: Instant) -> [Request] {
        now = time
        isTickDue = false
        // Twice: what the first round starts may be over at once.
        for _ in 0..<2 {
            cause = .newDeviceAvailable
            runTimers()
            dropLostPath()
            settle()
        }
        return takeRequests()
    }

    private mutating func takeRequests() -> [Request] {
        defer { requests = [] }
        return requests
    }

    private mutating func settle() {
        for _ in 0..<50 {
            let before = (current, pending, wanted, requests.count, links)
            noteDue()
            noteTarget()
            actuate()
            if before == (current, pending, wanted, requests.count, links) { return }
        }
        leaveOpen("the rules do not come to rest")
    }

    private var links: [Link.State] { addresses.map { link($0).state } }

    /// Notes a situation that the rules leave open.
    mutating func leaveOpen(_ text: String) {
        if openQuestion == nil { openQuestion = (now, text) }
    }

    /// Notes a situation in which the policy is known to differ from its rules.
    mutating func noteKnownDifference(_ text: String) { leaveOpen(text) }

    // MARK: Facts

    var addresses: [BluetoothAddress] { headsets.keys.sorted() }

    func link(_ address: BluetoothAddress) -> Link { headsets[address]?.link ?? Link() }

    var foreground: [Call] { calls.filter { $0.state == .dialing || $0.state == .active } }

    /// Whether no call has been answered or made, and at least one rings.
    var isOnlyRinging: Bool { !calls.isEmpty && calls.allSatisfy { $0.state == .ringing } }

    var isPermitted: Bool {
        interruption == .none && !configuration.manualRendering && (!configuration.manualAudio || isSessionActive)
    }

    /// Whether calls ask for a microphone; one that sends nothing does not.
    var needsMicrophone: Bool {
        let asking = foreground.isEmpty ? calls : foreground
        return asking.isEmpty || asking.contains { $0.sends }
    }

    /// How a headset is used; nil when it is not usable (section 4).
    func mode(of address: BluetoothAddress) -> LinkMode? {
        guard let headset = headsets[address], isAdapterPowered,
            !configuration.exclude.contains(where: { $0.names(address) })
        else { return nil }
        let (hasHFP, hasA2DP) = (headset.profiles.contains(.hfp), headset.profiles.contains(.a2dp))
        if !configuration.microphoneEnabled { return hasA2DP ? .a2dp : nil }
        if hasA2DP, configuration.allowBluetoothA2DP || !needsMicrophone { return .a2dp }
        return hasHFP ? .hfp : nil
    }

    var usableHeadsets: [BluetoothAddress] { addresses.filter { mode(of: $0) != nil } }

    var isWiredPresent: Bool {
        transducers.contains(.wiredHeadset) || jack != .empty && !isJackLost
    }

    /// Whether a device of the board is present, and neither excluded nor masked.
    func isAvailable(_ local: LocalDevice) -> Bool {
        guard !configuration.exclude.contains(AudioDevice(local)) else { return false }
        switch local {
        case .speakerphone: return transducers.contains(local)
        case .wiredHeadset: return isWiredPresent
        case .earpiece:
            let isPlugged = jack != .empty || transducers.contains(.wiredHeadset)
            return transducers.contains(local) && !(configuration.jackMasksEarpiece && isPlugged)
        }
    }

    func isSupported(_ kind: DeviceKind, by calls: [Call]) -> Bool {
        calls.allSatisfy { $0.kinds?.contains(kind) ?? true }
    }

    /// How many of these instants are within the time before now.
    func count(_ instants: [Instant], within window: Duration) -> Int {
        instants.count(where: { $0.advanced(by: window) > now })
    }

    func doubled(_ base: Duration, times: Int, limit: Duration) -> Duration {
        var result = base
        for _ in 0..<min(times, 40) where result < limit { result = result * 2 }
        return min(result, limit)
    }

    /// How long a headset must be stable (section 8).
    func settlingTime(_ headset: Headset) -> Duration {
        if mistake == .headsetNeedNotSettle { return .zero }
        return doubled(
            configuration.settleBluetooth, times: count(headset.losses, within: configuration.flapWindow),
            limit: configuration.settleMax)
    }

    private mutating func noteAttachments(since usable: Set<BluetoothAddress>, isDown: Bool) {
        for address in addresses {
            guard var headset = headsets[address] else { continue }
            let isUsable = mode(of: address) != nil
            if isUsable, !usable.contains(address) {
                headset.attachedAt = now
                headset.readyAt = now.advanced(by: settlingTime(headset))
                headset.penaltyUntil = nil
                headset.penalties = 0
                headset.attempts = 0
                headset.retryAt = nil
                headset.isAskedFor = false
            } else if !isUsable, usable.contains(address), isDown, !calls.isEmpty {
                headset.losses.append(now)
            }
            headsets[address] = headset
        }
    }

    /// A path on a device that is gone is closed before a new target is looked for. An earpiece that a plug masks, a
    /// device that a call does not support, and a headset that the configuration rules out stay until replaced.
    private mutating func dropLostPath() {
        if let address = pending?.address, mode(of: address) == nil { pending = nil }
        if pending != nil, current?.local != nil, isPathLost, reason == .bridge || dropSince != nil {
            leaveOpen("a device that stands in for a headset is lost")
        }
        if isPathLost { setRoute(nil, cause) }
    }

    private var isPathLost: Bool {
        switch current {
        case .headset(let address, let mode): link(address).state != .open || link(address).mode != mode
        case .local(.wiredHeadset): !isAvailable(.wiredHeadset)
        case .local(let local):
            !transducers.contains(local) || configuration.exclude.contains(AudioDevice(local))
        case nil: false
        }
    }
}
