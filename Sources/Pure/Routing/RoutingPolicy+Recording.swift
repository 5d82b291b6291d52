package import BluetoothTypes
package import JSONText

/// The policy as plain data, so that a recording can begin at any time and be replayed exactly.
extension RoutingPolicy {
    /// An invalid recorded state: written by another version, or modified.
    package struct RecordedStateError: Error, Hashable, CustomStringConvertible {
        package let description: String
    }

    /// The target, and the reason of the event that changed it last (docs/inside/Routing.md §3).
    package struct Wanted: Hashable, Sendable {
        package let target: Route?
        package let reason: RouteChangeReason
    }

    package var wanted: Wanted { Wanted(target: decision.target, reason: decision.reason) }

    /// The whole state except the configuration, between two events.
    ///
    /// - Parameter zero: the instant that times are counted from, in whole milliseconds.
    package func recordedState(from zero: Instant) -> JSON {
        var fields = RecordedFields(from: zero)
        var copy = self
        copy.visit(&fields)
        return .object(fields.members)
    }

    /// Restores the policy from `recordedState(from:)`, with the configuration it had.
    package init(
        recordedState: JSON, from zero: Instant, configuration: RoutingConfiguration
    ) throws(RecordedStateError) {
        guard case .object(let members) = recordedState else {
            throw RecordedStateError(description: "the state is not an object")
        }
        self.init(configuration: configuration, localDevices: [])
        var fields = RecordedFields(reading: members, from: zero)
        visit(&fields)
        if let problem = fields.problem { throw RecordedStateError(description: problem) }
    }

    /// Visits every stored property except `configuration`, and `effects`, which is empty between events.
    private mutating func visit(_ fields: inout RecordedFields) {
        fields.part("started", &started)
        fields.part("preferred", &preferred)
        fields.part("defaultDevice", &defaultDevice)
        fields.part("choice", &choice)
        fields.part("plugGesture", &plugGesture)
        fields.part("gestures", &gestures)
        var localList = LocalDevice.allCases.filter { locals.contains($0) }
        fields.part("locals", &localList)
        locals = Set(localList)
        fields.part("jack", &jack)
        fields.part("jackEdge", &jackEdge)
        fields.part("wiredAttachedAt", &wiredAttachedAt)
        fields.part("hasDetachedWired", &hasDetachedWired)
        fields.part("isWiredLost", &isWiredLost)
        fields.part("headsets", &headsets)
        fields.part("isAdapterPowered", &isAdapterPowered)
        fields.part("refusesWideband", &refusesWideband)
        fields.part("calls", &calls)
        fields.part("isSessionActive", &isSessionActive)
        fields.part("interruption", &interruption)
        fields.part("isParked", &isParked)
        fields.part("current", &current)
        fields.part("currentSince", &currentSince)
        fields.part("pathSince", &pathSince)
        fields.part("pending", &pending)
        fields.part("decision", &decision)
        fields.part("reason", &reason)
        fields.part("changedAt", &changedAt)
        fields.part("pathlessSince", &pathlessSince)
        fields.part("pathlessBefore", &pathlessBefore)
        fields.part("reopeningSince", &reopeningSince)
        fields.part("isBridging", &isBridging)
        fields.part("mediaRestore", &mediaRestore)
        fields.part("ringing", &ringing)
        fields.part("error", &error)
        fields.part("announcedDeadline", &announcedDeadline)
        fields.part("announcedDevices", &announcedDevices)
        fields.part("announcedEndpoints", &announcedEndpoints)
        fields.part("latest", &latest)
    }
}

// MARK: Parts of the policy

extension RoutingPolicy.Decision: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        let target = fields.read("target", as: Route.self)
        guard let reason = fields.read("reason", as: RouteChangeReason.self) else { return nil }
        self.init(target: target, reason: reason)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("target", target)
        fields.write("reason", reason)
    }
}

extension RoutingPolicy.JackEdge: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let state = fields.read("state", as: JackState.self),
            let deadline = fields.read("deadline", as: Instant.self)
        else { return nil }
        self.init(state: state, deadline: deadline)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("state", state)
        fields.write("deadline", deadline)
    }
}

extension RoutingPolicy.MediaRestore: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let addresses = fields.read("addresses", as: [BluetoothAddress].self),
            let deadline = fields.read("deadline", as: Instant.self)
        else { return nil }
        self.init(addresses: addresses, deadline: deadline)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("addresses", addresses)
        fields.write("deadline", deadline)
    }
}

extension RoutingPolicy.Interruption: RecordableWord {}

extension RoutingPolicy.Endpoints: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let output = fields.read("output", as: AudioOutput.self),
            let input = fields.read("input", as: AudioInput.self)
        else { return nil }
        self.init(output: output, input: input)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("output", output)
        fields.write("input", input)
    }
}

extension Ringing: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let local = fields.read("local", as: Bool.self),
            let headset = fields.read("headset", as: HeadsetRing.self)
        else { return nil }
        self.init(local: local, headset: headset)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("local", local)
        fields.write("headset", headset)
    }
}

extension DeviceChoice: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let device = fields.read("device", as: Device.self), let origin = fields.read("origin", as: Origin.self),
            let sequence = fields.read("sequence", as: Int.self), let madeAt = fields.read("madeAt", as: Instant.self)
        else { return nil }
        let others = fields.read("others", as: [BluetoothAddress].self) ?? []
        self.init(device: device, origin: origin, sequence: sequence, madeAt: madeAt, others: others)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("device", device)
        fields.write("origin", origin)
        fields.write("sequence", sequence)
        fields.write("madeAt", madeAt)
        fields.write("others", others.isEmpty ? nil : others)
    }
}

extension DeviceChoice.Device: RecordableWord {
    init?(word: String) {
        if word == "local" {
            self = .local
        } else if let device = AudioDevice(parsing: word) {
            self = .device(device)
        } else {
            return nil
        }
    }

    var word: String {
        switch self {
        case .device(let device): device.description
        case .local: "local"
        }
    }
}

extension DeviceChoice.Origin: RecordableWord {}

extension RoutingCall.State: RecordableWord {}

extension RoutingCall: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let identifier = fields.read("identifier", as: String.self),
            let state = fields.read("state", as: State.self), let video = fields.read("video", as: Bool.self)
        else { return nil }
        self.init(identifier: identifier, state: state, video: video, routes: fields.read("routes"))
        fields.part("inbandRingDeclinedBy", &inbandRingDeclinedBy)
        fields.part("wantsMicrophone", &wantsMicrophone)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("identifier", identifier)
        fields.write("state", state)
        fields.write("video", video)
        fields.write("routes", routes)
        fields.write("inbandRingDeclinedBy", inbandRingDeclinedBy)
        fields.write("wantsMicrophone", wantsMicrophone)
    }
}

extension Headset: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let address = fields.read("address", as: BluetoothAddress.self) else { return nil }
        self.init(address: address)
        visit(&fields)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("address", address)
        var copy = self
        copy.visit(&fields)
    }

    /// Visits every stored property except `address`.
    private mutating func visit(_ fields: inout RecordedFields) {
        fields.part("place", &place)
        fields.part("isExcluded", &isExcluded)
        fields.part("category", &category)
        fields.part("supportsInbandRing", &supportsInbandRing)
        fields.part("declinesCalls", &declinesCalls)
        fields.part("isResting", &isResting)
        fields.part("hfp", &hfp)
        fields.part("a2dp", &a2dp)
        fields.part("attachedAt", &attachedAt)
        fields.part("readyAt", &readyAt)
        fields.part("settlesSince", &settlesSince)
        fields.part("dwellWaived", &dwellWaived)
        fields.part("limitWaived", &limitWaived)
        fields.part("losses", &losses)
        fields.part("drops", &drops)
        fields.part("silences", &silences)
        fields.part("switchIns", &switchIns)
        fields.part("attempts", &attempts)
        fields.part("retryAt", &retryAt)
        fields.part("penaltyUntil", &penaltyUntil)
        fields.part("penalties", &penalties)
        fields.part("failedAttempts", &failedAttempts)
        fields.part("lastFailure", &lastFailure)
        fields.part("link", &link)
        fields.part("isForgotten", &isForgotten)
    }
}

extension RecentTimes: Recordable {
    init?(_ recorded: JSON, from zero: Instant) {
        guard let times = [Instant](recorded, from: zero) else { return nil }
        self.init()
        for time in times { append(time) }
    }

    func recorded(from zero: Instant) -> JSON { times.recorded(from: zero) }
}

extension LinkState: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        if let opening = fields.read("opening", as: Opening.self) {
            self = .opening(opening)
        } else if let open = fields.read("open", as: Open.self) {
            self = .open(open)
        } else if let mode = fields.read("closing", as: LinkMode.self) {
            self = .closing(mode)
        } else {
            self = .closed
        }
    }

    /// Writes nothing for a closed link.
    func write(_ fields: inout RecordedFields) {
        switch self {
        case .closed: break
        case .opening(let opening): fields.write("opening", opening)
        case .open(let open): fields.write("open", open)
        case .closing(let mode): fields.write("closing", mode)
        }
    }
}

extension LinkState.Opening: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        let codecHint = fields.read("codecHint", as: VoiceCodec.self)
        guard let mode = fields.read("mode", as: LinkMode.self), let since = fields.read("since", as: Instant.self),
            let deadline = fields.read("deadline", as: Instant.self)
        else { return nil }
        self.init(mode: mode, codecHint: codecHint, since: since, deadline: deadline)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("mode", mode)
        fields.write("codecHint", codecHint)
        fields.write("since", since)
        fields.write("deadline", deadline)
    }
}

extension LinkState.Open: RecordableObject {
    init?(_ fields: inout RecordedFields) {
        guard let mode = fields.read("mode", as: LinkMode.self), let since = fields.read("since", as: Instant.self)
        else { return nil }
        self.init(mode: mode, since: since)
        visit(&fields)
    }

    func write(_ fields: inout RecordedFields) {
        fields.write("mode", mode)
        fields.write("since", since)
        var copy = self
        copy.visit(&fields)
    }

    private mutating func visit(_ fields: inout RecordedFields) {
        fields.part("isByHeadset", &isByHeadset)
        fields.part("silentSince", &silentSince)
        fields.part("steadySince", &steadySince)
        fields.part("steadyAt", &steadyAt)
    }
}

// MARK: Words

extension JackState: RecordableWord {}
extension LinkMode: RecordableWord {}
extension LinkFailure: RecordableWord {}
extension LocalDevice: RecordableWord {}
extension DeviceKind: RecordableWord {}
extension RouteChangeReason: RecordableWord {}
extension RoutingError: RecordableWord {}
extension Ringing.HeadsetRing: RecordableWord {}
extension ClassOfDevice.Category: RecordableWord {}

extension BluetoothAddress: RecordableWord {
    init?(word: String) { self.init(word) }
    var word: String { description }
}

extension VoiceCodec: RecordableWord {
    init?(word: String) {
        guard let codec = Self.allCases.first(where: { $0.description == word }) else { return nil }
        self = codec
    }

    var word: String { description }
}

extension AudioDevice: RecordableWord {
    init?(word: String) { self.init(parsing: word) }
    var word: String { description }
}

extension Route: RecordableWord {
    /// Reads `earpiece` or `hfp:ADDRESS`.
    init?(word: String) {
        if let local = LocalDevice(rawValue: word) {
            self = .local(local)
            return
        }
        for mode in LinkMode.allCases where word.hasPrefix("\(mode.rawValue):") {
            guard let address = BluetoothAddress(word.dropFirst(mode.rawValue.utf8.count + 1)) else { return nil }
            self = .headset(address, mode)
            return
        }
        return nil
    }

    var word: String {
        switch self {
        case .local(let local): local.rawValue
        case .headset(let address, let mode): "\(mode.rawValue):\(address)"
        }
    }
}

extension AudioOutput: RecordableWord {
    init?(word: String) {
        let plain: [AudioOutput] = [.none, .speaker, .earpiece, .jack]
        if let output = plain.first(where: { $0.description == word }) {
            self = output
        } else if word.hasPrefix("sco:"), let address = BluetoothAddress(word.dropFirst(4)) {
            self = .sco(address)
        } else if word.hasPrefix("a2dp:"), let address = BluetoothAddress(word.dropFirst(5)) {
            self = .a2dp(address)
        } else {
            return nil
        }
    }

    var word: String { description }
}

extension AudioInput: RecordableWord {
    init?(word: String) {
        let plain: [AudioInput] = [.none, .builtinMic, .jackMic]
        if let input = plain.first(where: { $0.description == word }) {
            self = input
        } else if word.hasPrefix("sco:"), let address = BluetoothAddress(word.dropFirst(4)) {
            self = .sco(address)
        } else {
            return nil
        }
    }

    var word: String { description }
}
