package import BluetoothTypes

/// Period in which headsets may be paired: searches for an allowed one, pairs, trusts and connects it, and lets an allowed
/// one begin the pairing itself. It ends with the first paired headset, or at its deadline.
///
/// A value: facts and times in, actions out, which the caller performs in order. During a call it neither searches nor
/// pages, unless the window was opened with `searchesInCall`, and never while a voice link is being set up. A search without
/// a window (`scan`) is part of it, because there is one radio.
package struct PairingWindow: Sendable {
    package enum Step {
        case looking
        case pairing(BluetoothAddress, number: Int)
        case trusting(BluetoothAddress, number: Int)
        /// Trusted; connected when no voice link is being set up any more.
        case waiting(BluetoothAddress)
        case connecting(BluetoothAddress, number: Int)

        package var number: Int? {
            switch self {
            case .looking, .waiting: nil
            case .pairing(_, let number), .trusting(_, let number), .connecting(_, let number): number
            }
        }

        package var address: BluetoothAddress? {
            switch self {
            case .looking: nil
            case .pairing(let address, _), .trusting(let address, _), .waiting(let address),
                .connecting(let address, _):
                address
            }
        }
    }

    package struct Attempt {
        package var count = 0
        package var notBefore: Instant
    }

    package struct Open {
        package let rules: PairingRules
        /// Whether it searches and pages during a call too.
        package let searchesInCall: Bool
        package let deadline: Instant
        /// Without a list no device is chosen before this time: then the strongest is.
        package let survey: Instant
        /// Devices that were paired at the start, or have been paired since.
        package var paired: Set<BluetoothAddress>
        package var attempts: [BluetoothAddress: Attempt] = [:]
        package var failure: (address: BluetoothAddress, reason: String)?
        package var refusals = 0
        package var step = Step.looking
    }

    /// Maximum attempts per device.
    package static let attempts = 3
    package static let retryPause = Duration.seconds(5)
    package static let survey = Duration.seconds(5)
    /// Delay after a search that could not be started.
    package static let discoveryPause = Duration.seconds(2)
    /// Maximum log lines about refused devices in one window.
    package static let mostRefusals = 50

    private var open: Open?
    private var scanEnd: Instant?
    /// Whether a search is running.
    package private(set) var isDiscovering = false
    private var noDiscoveryBefore = Instant.zero
    private var number = 0
    private var hasCall = false
    /// A voice link is being set up.
    private var isSettingUp = false
    /// Ordered by address.
    private var devices: [Device] = []

    package init() {}

    package var state: PairingState {
        guard let open else { return .closed }
        if case .looking = open.step { return .open }
        return .pairing
    }

    /// End of the window's time.
    package var deadline: Instant? { open?.deadline }

    /// Whether a search runs, or would run without the call.
    package var isSearching: Bool { open != nil || scanEnd != nil }

    // MARK: Requests

    /// Opens the window. An open one continues unchanged: the caller checks `state` first.
    ///
    /// - Parameters:
    ///   - searchesInCall: whether it searches and pages during a call too, which may cost the call audio.
    ///   - who: for the log.
    package mutating func open(
        for duration: Duration, _ rules: PairingRules, searchesInCall: Bool = false, by who: String, at now: Instant
    ) -> [Action] {
        guard open == nil else { return [] }
        open = Open(
            rules: rules, searchesInCall: searchesInCall, deadline: now.advanced(by: duration),
            survey: now.advanced(by: rules.allowed.isEmpty ? Self.survey : .zero),
            paired: Set(devices.filter(\.isPaired).map(\.address)))
        let pin = rules.pin == nil ? "" : ", with a PIN"
        let search = searchesInCall ? ", searching during a call too" : ""
        return [.audit("window opened by \(who) for \(duration.milliseconds / 1000) s: \(rules)\(pin)\(search)")]
            + settle(now)
    }

    /// Closes the window; a pairing in progress is cancelled.
    package mutating func close(by who: String, at now: Instant) -> [Action] {
        guard let open else { return [] }
        var actions: [Action] = []
        if case .pairing(let address, _) = open.step { actions.append(.cancelPairing(address)) }
        return actions
            + finish(Result(address: open.step.address, outcome: .cancelled, reason: "closed by \(who)"), now)
    }

    /// Ends everything, because bluetoothd or the adapter has gone.
    package mutating func lost(_ what: String, at now: Instant) -> [Action] {
        isDiscovering = false
        scanEnd = nil
        devices = []
        guard let open else { return [] }
        return finish(Result(address: open.step.address, outcome: .failed, reason: what), now)
    }

    /// Searches for devices, during a window or without one.
    package mutating func scan(for duration: Duration, by who: String, at now: Instant) -> [Action] {
        scanEnd = now.advanced(by: duration)
        return [.audit("search by \(who) for \(duration.milliseconds / 1000) s")] + settle(now)
    }

    // MARK: Events

    /// - Parameters:
    ///   - devices: all devices known to bluetoothd, ordered by address.
    ///   - isSettingUp: a voice link is being set up.
    package mutating func update(
        _ devices: [Device], hasCall: Bool, isSettingUp: Bool = false, at now: Instant
    ) -> [Action] {
        self.isSettingUp = isSettingUp
        self.devices = devices
        self.hasCall = hasCall
        return settle(now)
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] { settle(now) }

    /// Handles a search that bluetoothd did not start; it is retried.
    package mutating func discoveryFailed(_ reason: String, at now: Instant) -> [Action] {
        guard isDiscovering else { return [] }
        isDiscovering = false
        noDiscoveryBefore = now.advanced(by: Self.discoveryPause)
        return [.audit("bluetoothd does not search: \(reason)")] + settle(now)
    }

    /// Handles the outcome of `pair`, `trust` or `connect`.
    package mutating func answered(_ number: Int, _ answer: Answer, at now: Instant) -> [Action] {
        guard var open, open.step.number == number else { return [] }
        switch open.step {
        case .looking, .waiting: return []
        case .pairing(let address, _):
            switch answer {
            case .done:
                open.paired.insert(address)
                self.open = open
                return [.audit("\(title(address)) is paired")] + trust(address)
            case .failed(let reason): return failed(address, reason, now)
            }
        case .trusting(let address, _):
            var line = "\(title(address)) is trusted"
            if case .failed(let reason) = answer { line = "\(title(address)) is not trusted: \(reason)" }
            self.open?.step = .waiting(address)
            return [.audit(line)] + (connect(now) ?? [])
        case .connecting(let address, _):
            switch answer {
            case .done:
                return [.audit("\(title(address)) is connected")]
                    + finish(Result(address: address, outcome: .paired, reason: ""), now)
            case .failed(let reason):
                return finish(
                    Result(address: address, outcome: .paired, reason: "not connected: \(reason)"), now)
            }
        }
    }

    /// Handles bluetoothd's question whether a device may do something.
    package mutating func asked(
        _ address: BluetoothAddress, _ request: PairingRequest, at now: Instant
    ) -> (answer: PairingAnswer, actions: [Action]) {
        if let reason = objection(address, request) {
            open?.refusals += 1
            let line: [Action] =
                (open?.refusals ?? 0) > Self.mostRefusals
                ? [] : [.audit("\(title(address)) is refused \(Self.word(request)): \(reason)")]
            return (.reject(reason: reason), line)
        }
        let line = Action.audit("\(title(address)) is allowed \(Self.word(request))")
        // A device that has begun the pairing is not paged meanwhile.
        open?.attempts[address, default: Attempt(notBefore: now)].notBefore = now.advanced(by: Self.retryPause)
        if case .pin = request, let pin = open?.rules.pin { return (.pin(pin), [line]) }
        return (.accept, [line])
    }

    private func objection(_ address: BluetoothAddress, _ request: PairingRequest) -> String? {
        guard let open else { return "no pairing window is open" }
        if let other = open.step.address, other != address { return "\(title(other)) is being paired" }
        if let what = disqualification(address, open.rules) { return "it is \(what)" }
        switch request {
        case .pin: return open.rules.pin == nil ? "it wants a PIN, and none was given" : nil
        case .passkey: return "it requires digits that it displays, and this board has no keys"
        case .display: return "it requires digits that this board would have to display"
        case .confirmation, .authorization, .service: return nil
        }
    }

    private static func word(_ request: PairingRequest) -> String {
        switch request {
        case .pin: "a PIN"
        case .passkey: "a passkey"
        case .confirmation: "to confirm its digits"
        case .display: "the display of digits"
        case .authorization: "to pair"
        case .service(let service): "the service \(service.text)"
        }
    }

    // MARK: Steps

    private mutating func nextNumber() -> Int {
        number += 1
        return number
    }

    private func title(_ address: BluetoothAddress) -> String {
        devices.first { $0.address == address }?.title ?? "\(address)"
    }

    private mutating func trust(_ address: BluetoothAddress) -> [Action] {
        let next = nextNumber()
        open?.step = .trusting(address, number: next)
        return [.trust(address, number: next)]
    }

    /// Connects the trusted headset as soon as that costs no link that is being set up.
    private mutating func connect(_ now: Instant) -> [Action]? {
        guard case .waiting(let address)? = open?.step, !isSettingUp else { return nil }
        guard maySearch || devices.first(where: { $0.address == address })?.isConnected != false else {
            let reason = "not connected: btcalld pages nobody during a call: switch the headset off and on"
            return finish(Result(address: address, outcome: .paired, reason: reason), now)
        }
        let next = nextNumber()
        open?.step = .connecting(address, number: next)
        return [.connect(address, number: next)]
    }

    private mutating func failed(_ address: BluetoothAddress, _ reason: String, _ now: Instant) -> [Action] {
        guard var open else { return [] }
        var attempt = open.attempts[address] ?? Attempt(notBefore: now)
        attempt.count += 1
        attempt.notBefore = now.advanced(by: Self.retryPause)
        open.attempts[address] = attempt
        open.failure = (address, reason)
        open.step = .looking
        self.open = open
        let line = Action.audit("\(title(address)) is not paired (attempt \(attempt.count)): \(reason)")
        let isHopeless =
            open.rules.onlyAddresses?.allSatisfy { (open.attempts[$0]?.count ?? 0) >= Self.attempts } ?? false
        guard !isHopeless else {
            return [line] + finish(Result(address: address, outcome: .failed, reason: reason), now)
        }
        return [line] + settle(now)
    }

    private mutating func finish(_ result: Result, _ now: Instant) -> [Action] {
        open = nil
        let who = result.address.map { " \(title($0))" } ?? ""
        let why = result.reason.isEmpty ? "" : ": \(result.reason)"
        let line = "window closed: \(result.outcome.rawValue)\(who)\(why)"
        return [.audit(line)] + settle(now) + [.close, .finished(result)]
    }

    private mutating func settle(_ now: Instant) -> [Action] {
        if let end = scanEnd, now >= end { scanEnd = nil }
        var step = dropStrangers()
        if let connecting = connect(now) {
            step += connecting
        } else if case .looking? = open?.step {
            if let open, now >= open.deadline { return timedOut(open, now) }
            step += adopt() ?? choose(now)
        }
        return discover(now) + step + [deadlineAction(now)].compactMap { $0 }
    }

    private mutating func timedOut(_ open: Open, _ now: Instant) -> [Action] {
        guard let failure = open.failure else {
            return finish(Result(address: nil, outcome: .timedOut, reason: "no allowed device came"), now)
        }
        return finish(Result(address: failure.address, outcome: .timedOut, reason: failure.reason), now)
    }

    /// Removes devices paired during the window that it does not allow.
    ///
    /// If neither side has a display, the kernel lets any initiator pair with a pairable adapter without asking the agent.
    private mutating func dropStrangers() -> [Action] {
        guard let open else { return [] }
        var actions: [Action] = []
        for device in devices where device.isPaired && !open.paired.contains(device.address) {
            guard let what = disqualification(device.address, open.rules) else { continue }
            self.open?.paired.insert(device.address)
            actions.append(.audit("\(device.title) is paired and \(what): its bond is removed"))
            actions.append(.dropBond(device.address))
        }
        return actions
    }

    /// Reason why a window with these rules does not admit a device; nil if it does.
    private func disqualification(_ address: BluetoothAddress, _ rules: PairingRules) -> String? {
        let device = devices.first { $0.address == address }
        guard rules.allows(address, name: device?.name) else { return "not on the list" }
        // A device named in the list is admitted unless it announces otherwise.
        return device?.isAudio ?? !rules.allowed.isEmpty ? nil : "no audio device"
    }

    /// Continues with a device that began the pairing itself.
    private mutating func adopt() -> [Action]? {
        guard let open,
            let device = devices.first(where: {
                $0.isPaired && !open.paired.contains($0.address) && disqualification($0.address, open.rules) == nil
            })
        else { return nil }
        self.open?.paired.insert(device.address)
        return [.audit("\(device.title) is paired, which it began itself")] + trust(device.address)
    }

    /// Chooses from the allowed devices found the one tried least often, then the strongest.
    private mutating func choose(_ now: Instant) -> [Action] {
        guard let open, maySearch, !isSettingUp, now >= open.survey else { return [] }
        func rank(_ device: Device) -> (Int, Int) {
            (open.attempts[device.address]?.count ?? 0, -(device.rssi ?? .min + 1))
        }
        let candidates = devices.filter { device in
            let attempt = open.attempts[device.address]
            return device.rssi != nil && device.isAudio == true && !device.isPaired
                && (attempt?.count ?? 0) < Self.attempts && now >= attempt?.notBefore ?? now
                && open.rules.allows(device.address, name: device.name)
        }
        guard let device = candidates.min(by: { rank($0) < rank($1) }) else { return [] }
        let next = nextNumber()
        self.open?.step = .pairing(device.address, number: next)
        let rssi = device.rssi.map { "\($0) dBm" } ?? ""
        return [
            .audit("\(device.title) is found (\(rssi)) and allowed: it is paired"),
            .pair(device.address, number: next),
        ]
    }

    /// Whether searching and paging are allowed: they cost a call audio.
    private var maySearch: Bool { !hasCall || open?.searchesInCall == true }

    private var isLooking: Bool {
        guard let open else { return scanEnd != nil }
        if case .looking = open.step { return true }
        return false
    }

    private mutating func discover(_ now: Instant) -> [Action] {
        let wanted = isLooking && maySearch && !(hasCall && isSettingUp) && now >= noDiscoveryBefore
        guard wanted != isDiscovering else { return [] }
        isDiscovering = wanted
        guard !wanted else { return [.startDiscovery] }
        let isForCall = hasCall && isLooking && !maySearch
        return isForCall ? [.audit("the search ends for a call"), .stopDiscovery] : [.stopDiscovery]
    }

    private func deadlineAction(_ now: Instant) -> Action? {
        var next: [Instant] = []
        if let scanEnd { next.append(scanEnd) }
        if let open, case .looking = open.step {
            next.append(open.deadline)
            next.append(open.survey)
            next += open.attempts.values.filter { $0.count < Self.attempts }.map(\.notBefore)
        }
        if isLooking, maySearch { next.append(noDiscoveryBefore) }
        return next.filter { $0 > now }.min().map { .setDeadline($0) }
    }
}
