import BluetoothTypes
import HandsFree
import Telephony

/// The environment of one gateway: a headset, calls, the audio link, the executor of requests, and time. It performs the
/// actions like a shell, and checks the rules after every step. A second gateway receives the same input byte by byte and
/// must do the same.
struct GatewayWorld {
    /// State of the audio link at the adapter.
    enum Link: Hashable {
        case idle
        case opening(VoiceCodec)
        case accepting(VoiceCodec)
        case open
        /// - Parameter isHalf: whether it was not open yet.
        case closing(isHalf: Bool)
    }

    private(set) var gateway: AudioGateway
    private var twin: AudioGateway
    var view: HeadsetView
    var configuration: AudioGatewayConfiguration
    var now = Instant.zero
    var link = Link.idle
    var calls = CallSnapshot.empty
    var party = (number: String?.none, name: String?.none)
    var values: IndicatorValues
    /// Indicators that changed while they were not reported.
    private var missed: Set<Indicator> = []
    private(set) var pending: (id: GatewayRequestID, since: Instant)?
    private(set) var deadline: Instant?
    private var closeReason: AudioGateway.CloseReason?
    private var lastRing: Instant?
    /// Whether the headset opens the link; the gateway must respond.
    private var isOffered = false

    init(configuration: AudioGatewayConfiguration) {
        self.configuration = configuration
        gateway = AudioGateway(configuration: configuration)
        twin = gateway
        view = HeadsetView(configuration)
        values = configuration.indicators
    }

    // MARK: The connection

    mutating func connect() throws(BrokenRule) {
        try both { [now] gateway in gateway.start(at: now) }
        if configuration.profile == .headset {
            try require(gateway.isEstablished, "the Headset Profile has no dialogue")
        }
    }

    /// Drops the connection, if there is one, and reconnects the headset. The calls stay.
    mutating func reconnect() throws(BrokenRule) {
        if gateway.isOpen {
            let actions = gateway.connectionLost()
            try require(actions == twin.connectionLost(), "the end is the same byte by byte")
            try require(
                actions.allSatisfy { $0 == .setDeadline(nil) },
                "a connection that is lost leaves nothing to do: \(actions)")
        }
        try require(gateway.keptBytes <= ATReader.limit, "what was kept for the headset is gone")
        configuration.codecMemory = gateway.codecMemory
        configuration.indicators = values
        gateway = AudioGateway(configuration: configuration, calls: calls)
        twin = gateway
        view = HeadsetView(configuration)
        (link, pending, deadline, closeReason, missed, lastRing) = (.idle, nil, nil, nil, [], nil)
        try connect()
    }

    // MARK: Inputs

    /// Sends these bytes from the headset.
    mutating func say(_ bytes: [UInt8]) throws(BrokenRule) {
        guard !bytes.isEmpty else { return }
        view.say(bytes)
        let whole = gateway.bytesReceived(bytes, at: now)
        var parts: [AudioGateway.Action] = []
        for byte in bytes { parts += twin.bytesReceived(CollectionOfOne(byte), at: now) }
        try compare(whole, parts)
        try perform(whole)
    }

    /// Passes any other input to both gateways.
    mutating func both(_ input: (inout AudioGateway) -> [AudioGateway.Action]) throws(BrokenRule) {
        let first = input(&gateway)
        try compare(first, input(&twin))
        try perform(first)
    }

    /// The second gateway may set more deadlines, one for each piece.
    private func compare(
        _ whole: [AudioGateway.Action], _ parts: [AudioGateway.Action]
    ) throws(BrokenRule) {
        func timeless(_ actions: [AudioGateway.Action]) -> [AudioGateway.Action] {
            actions.filter { action in
                if case .setDeadline = action { false } else { true }
            }
        }
        func last(_ actions: [AudioGateway.Action]) -> AudioGateway.Action? {
            actions.last { action in
                if case .setDeadline = action { true } else { false }
            }
        }
        try require(timeless(whole) == timeless(parts), "byte by byte \(timeless(parts)), not \(timeless(whole))")
        guard let final = last(whole) else { return }
        try require(last(parts) == final, "byte by byte the deadline is \(String(describing: last(parts)))")
    }

    /// Advances the time. Deadlines are kept exactly, or all fire at the end.
    mutating func pass(_ duration: Duration, isLate: Bool) throws(BrokenRule) {
        let end = now.advanced(by: duration)
        if isLate { now = end }
        var wakeUps = 0
        let limit = 20 + Int(duration / .milliseconds(100))
        while let next = deadline, next <= end {
            now = max(now, next)
            deadline = nil
            try both { [now] gateway in gateway.deadlineReached(at: now) }
            wakeUps += 1
            try require(wakeUps < limit, "deadlines come to rest: \(wakeUps) in \(duration)")
        }
        now = end
        if let pending {
            try require(
                pending.since.advanced(by: configuration.requestTimeout) > now, "a request ends when its time is over")
        }
    }

    // MARK: Actions

    private mutating func perform(_ actions: [AudioGateway.Action]) throws(BrokenRule) {
        try require(closeReason == nil || actions.isEmpty, "after the end nothing is said: \(actions)")
        for action in actions {
            try require(closeReason == nil, "after the end nothing is said: \(action)")
            switch action {
            case .send(let code): try hear(code)
            case .request(let request, let id):
                try check(request)
                try require(!view.isWaiting && id != pending?.id, "one request at a time")
                pending = (id, now)
                view.isWaiting = true
            case .connectAudio(let codec): try connectAudio(codec)
            case .disconnectAudio:
                try require(link != .idle, "there is no link to close")
                link = .closing(isHalf: link != .open && link != .closing(isHalf: false))
            case .acceptAudio(let codec):
                try require(isOffered && link == .idle, "there is no link to accept")
                try require(gateway.isEstablished, "no audio before the service level connection")
                try require(codec == .cvsd || view.agreed == codec, "\(codec) was not agreed on")
                link = .accepting(codec)
                isOffered = false
            case .rejectAudio:
                try require(isOffered, "there is no link to reject")
                isOffered = false
            case .setDeadline(let next):
                deadline = next
                if let next {
                    try require(next <= now.advanced(by: .seconds(61)), "a deadline is near: \(next) at \(now)")
                }
            case .event(.established):
                try view.establish()
                missed = Set(Indicator.allCases.filter { isStale($0) && !view.isReported($0) })
            case .event: break
            case .closeConnection(let reason):
                closeReason = reason
                try checkClose(reason)
                // Nobody is left to receive the answer.
                pending = nil
            case .fault(let reason): throw BrokenRule("fault: \(reason)")
            }
        }
        if !view.isWaiting { pending = nil }
        try check()
    }

    /// Checks a request that the headset may make.
    private func check(_ request: CallRequest) throws(BrokenRule) {
        switch request {
        case .responseAndHold: return
        case .dial:
            let isFree = !calls.calls.contains { [.setup, .dialing, .alerting].contains($0.state) }
            try require(isFree, "one number is dialled at a time")
        case .answer, .reject, .hangUp, .giveUp, .end, .setHeld, .threeWay, .sendDTMF: break
        }
        try require(gateway.isEstablished, "nothing is done to calls before the service level connection")
    }

    private mutating func hear(_ code: ATResultCode) throws(BrokenRule) {
        if code == .ring {
            try require(calls.ringing != nil, "nothing rings")
            let isToneHeard = configuration.profile == .headset && configuration.inbandRing && link == .open
            try require(!isToneHeard || view.hasRingPolicy, "no RING over the ring tone")
            if let lastRing {
                try require(
                    lastRing.advanced(by: configuration.ringInterval) <= now, "RING twice within \(lastRing)…\(now)")
            }
            lastRing = now
        }
        if case .codec = code {
            try require(link == .idle, "a codec is proposed before the link, not while it is \(link)")
        }
        try view.hear(code)
    }

    private mutating func connectAudio(_ codec: VoiceCodec) throws(BrokenRule) {
        try require(gateway.isEstablished, "no audio before the service level connection")
        try require(link == .idle, "one link at a time: \(link)")
        let ours = configuration.codecs.contains(codec) && !configuration.quirks.brokenCodecs.contains(codec)
        try require(codec == .cvsd || ours && view.agreed == codec, "\(codec) was not agreed on")
        link = .opening(codec)
    }

    private func checkClose(_ reason: AudioGateway.CloseReason) throws(BrokenRule) {
        try require(!gateway.isOpen && !twin.isOpen, "it is closed")
        switch reason {
        case .setUpTimedOut: try require(!view.isEstablished, "it was established")
        case .flooded:
            try require(
                view.linesSaid > configuration.quota.burst || view.unanswered.count > AudioGateway.queueLimit,
                "\(view.linesSaid) lines are no flood")
        case .outputOverflow: try require(view.isWaiting, "nothing waits for a reply")
        }
    }

    mutating func callsChanged(_ snapshot: CallSnapshot, isSwapped: Bool) throws(BrokenRule) {
        if snapshot.ringing?.id != calls.ringing?.id { lastRing = nil }
        calls = snapshot
        values[.call] = snapshot.indicators.call
        values[.callSetup] = snapshot.indicators.callSetup
        values[.callHeld] = snapshot.indicators.callHeld
        try both { [now] gateway in gateway.callsChanged(snapshot, isSwapped: isSwapped, at: now) }
    }

    mutating func complete(_ outcome: AudioGateway.RequestOutcome) throws(BrokenRule) {
        guard let pending, gateway.isOpen else { return }
        try both { [now] gateway in gateway.requestCompleted(pending.id, outcome, at: now) }
        try require(self.pending?.id != pending.id, "a request is completed once")
    }

    mutating func offerLink() throws(BrokenRule) {
        isOffered = true
        try both { gateway in gateway.audioIncoming() }
        try require(!isOffered || !gateway.isOpen, "a link that the headset opens is accepted or rejected")
        isOffered = false
    }

    // MARK: Rules after every step

    private mutating func check() throws(BrokenRule) {
        try require(
            gateway.keptBytes
                <= ATReader.limit * (AudioGateway.queueLimit + 1) + AudioGateway.deferredLimit * LineRules.limit,
            "\(gateway.keptBytes) bytes are kept")
        try require(gateway.keptBytes == twin.keptBytes, "byte by byte as much is kept")
        guard gateway.isOpen else {
            try require(closeReason != nil, "it ends with a reason")
            try require(deadline == nil, "after the end nothing is waited for")
            return
        }
        try require(gateway.isEstablished == view.isEstablished, "established, and said so")
        try require(deadline != nil || gateway.isEstablished && pending == nil, "what may never come has a deadline")
        try view.rest()
        try checkLink()
        try checkIndicators()
    }

    private func checkLink() throws(BrokenRule) {
        let fits =
            switch (link, gateway.audioState) {
            case (.idle, .idle), (.idle, .proposed), (.idle, .settling), (.open, .connected), (.closing, .closing): true
            case (.opening(let codec), .connecting(let wanted)), (.accepting(let codec), .accepting(let wanted)):
                codec == wanted
            default: false
            }
        try require(fits, "the link is \(link), and the gateway thinks \(gateway.audioState)")
    }

    private func isStale(_ indicator: Indicator) -> Bool {
        view.known[indicator].map { $0 != values[indicator] } ?? false
    }

    /// Every headset with indicator reporting is up to date, except for changes while reporting was off
    /// (docs/inside/Gateway.md rule 1).
    private mutating func checkIndicators() throws(BrokenRule) {
        let isSimple = configuration.virtualCall == .never && !configuration.responseAndHold
        for indicator in Indicator.allCases where isSimple || !indicator.isMandatory {
            guard let known = view.known[indicator] else { continue }
            if known == values[indicator] {
                missed.remove(indicator)
            } else if !view.isReported(indicator) {
                missed.insert(indicator)
            } else {
                try require(
                    pending != nil || missed.contains(indicator),
                    "\(indicator.name) is \(values[indicator]), and the headset knows \(known)")
            }
        }
    }
}
