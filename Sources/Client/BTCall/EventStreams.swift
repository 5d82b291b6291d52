import BTCallAPI
import ControlLoop
import DBus

extension BridgeConnection {
    /// A stream of everything that the daemon signals.
    ///
    /// - Parameter call: limits the stream to this call, and ends it with the call.
    func events(of call: Call.ID? = nil) -> AsyncStream<BridgeEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BridgeEvent.self, bufferingPolicy: .bufferingNewest(1024))
        let source = EventSource(on: self, of: call, continuation)
        continuation.onTermination = { _ in
            Task { @ControlPlane in source.cancel() }
        }
        add(source)
        return stream
    }
}

/// A source of a stream that was handed out.
@ControlPlane
protocol StreamSource: AnyObject {
    var isCancelled: Bool { get }
    /// Ends the stream.
    func cancel()
}

/// The subscriptions that feed one stream of events.
///
/// A stream begins with the present calls, which it requests when the daemon appears. Signals of an unknown call wait for
/// that answer. The answer already includes their states; for a call that is no longer in it, the signals are all there is.
@ControlPlane
final class EventSource: StreamSource {
    private let continuation: AsyncStream<BridgeEvent>.Continuation
    /// The one call of the stream; nil for all events.
    private let call: Call.ID?
    private weak var connection: BridgeConnection?
    private var subscriptions: [Subscription] = []
    /// Nil while unknown.
    private var wasPresent: Bool?
    /// Calls that the stream has reported as added.
    private var known: Set<Call.ID> = []
    /// Number of requests for the calls.
    private var questions = 0
    private var isAsking = false
    /// Events of unknown calls meanwhile.
    private var held: [BridgeEvent] = []
    /// Signals in order, from the first one without the other party's identity; the stream requests it from the daemon.
    private var incomplete: [BusSignal] = []
    /// Identities of the other parties by call path, as answered by the daemon.
    private var identities: [String: [String: Value]] = [:]
    private var isCompleting = false
    private(set) var isCancelled = false

    init(on connection: BridgeConnection, of call: Call.ID?, _ continuation: AsyncStream<BridgeEvent>.Continuation) {
        self.continuation = continuation
        self.connection = connection
        self.call = call
        let bus = connection.connection
        let receive: @ControlPlane (BusSignal) -> Void = { [weak self] signal in self?.received(signal) }
        subscriptions = [bus.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) }]
        if let call {
            subscriptions += [call.path, BTCallPath.calls].map {
                bus.subscribe(sender: BTCallName.bus, path: $0, receive)
            }
        } else {
            subscriptions.append(bus.subscribe(sender: BTCallName.bus, pathNamespace: BTCallPath.manager, receive))
        }
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        for subscription in subscriptions {
            subscription.cancel()
        }
        subscriptions = []
        incomplete = []
        continuation.finish()
    }

    private func ownerChanged(_ owner: String?) {
        guard (owner != nil) != wasPresent else {
            // No daemon to ask about the one call.
            if owner == nil, call != nil { cancel() }
            return
        }
        let isPresent = owner != nil
        wasPresent = isPresent
        flush()
        if call == nil { continuation.yield(isPresent ? .daemonAppeared : .daemonVanished) }
        known = []
        held = []
        questions += 1
        isAsking = isPresent
        if isPresent { replay(questions) } else if call != nil { cancel() }
    }

    /// Adds the present calls, unless they were added already.
    private func replay(_ question: Int) {
        Task { @ControlPlane [weak self, weak connection] in
            // A daemon that does not answer tells nothing; its disappearance is an event of its own.
            let calls = try? await connection?.callList()
            guard let self, !isCancelled, question == questions else { return }
            isAsking = false
            for present in calls ?? [] where call == nil || call == present.id {
                guard known.insert(present.id).inserted else { continue }
                continuation.yield(.callAdded(present))
                if present.direction == .incoming, present.state == .ringing || present.state == .waiting {
                    continuation.yield(.incomingCall(present))
                }
                if let camera = present.camera { continuation.yield(.cameraSettingsChanged(present.id, camera)) }
                for question in present.openQuestions { continuation.yield(question) }
            }
            let waiting = held
            held = []
            let listed = Set((calls ?? []).map(\.id))
            let asked = Set((calls ?? []).flatMap(\.openQuestions))
            for event in waiting {
                // The list is newer than what waited for it.
                switch event {
                case .callStateChanged(let id, _, _) where listed.contains(id): continue
                case .callStatusChanged(let id, _, _) where listed.contains(id): continue
                case .incomingCall(let call) where listed.contains(call.id): continue
                case .cameraSettingsChanged(let id, _) where listed.contains(id): continue
                case _ where asked.contains(event): continue
                default: pass(event)
                }
            }
            if let call, !known.contains(call) { cancel() }
        }
    }

    private func received(_ signal: BusSignal) {
        guard incomplete.isEmpty, signal.callWithoutIdentity == nil else {
            incomplete.append(signal)
            return complete()
        }
        handle(signal)
    }

    /// Handles the waiting signals, as far as the daemon has answered with the identities of their calls.
    private func complete() {
        while !isCompleting, let signal = incomplete.first {
            guard let path = signal.callWithoutIdentity, identities[path] == nil else {
                incomplete.removeFirst()
                handle(completed(signal))
                continue
            }
            isCompleting = true
            Task { @ControlPlane [weak self, weak connection] in
                let identity = await connection?.identity(ofCallAt: path) ?? [:]
                guard let self, !isCancelled else { return }
                isCompleting = false
                // The daemon may have gone meanwhile.
                if !incomplete.isEmpty { identities[path] = identity }
                complete()
            }
        }
    }

    /// The daemon has gone: handles its last signals with the identities known so far.
    private func flush() {
        let waiting = incomplete
        incomplete = []
        for signal in waiting { handle(completed(signal)) }
        identities = [:]
    }

    private func completed(_ signal: BusSignal) -> BusSignal {
        guard let path = signal.callWithoutIdentity else { return signal }
        return signal.with(identities[path] ?? [:])
    }

    private func handle(_ signal: BusSignal) {
        if signal.member == BTCallName.Calls.callRemoved, let path = signal.arguments.first?.stringValue {
            identities[path] = nil
        }
        for event in BridgeEvent.events(of: signal) where concerns(event) {
            if isAsking, let id = event.call, !known.contains(id) {
                held.append(event)
            } else {
                pass(event)
            }
        }
    }

    private func pass(_ event: BridgeEvent) {
        continuation.yield(event)
        guard case .callRemoved(let id, _) = event else { return }
        known.remove(id)
        if id == call { cancel() }
    }

    /// Whether the event belongs to the stream.
    private func concerns(_ event: BridgeEvent) -> Bool {
        guard let id = event.call else {
            guard call != nil else { return true }
            if case .mutedChanged = event { return true }
            return false
        }
        guard call == nil || call == id else { return false }
        if case .callAdded = event { return known.insert(id).inserted }
        return true
    }
}

extension BusSignal {
    /// The path of the added or incoming call when the signal lacks the other party's identity: a signal goes to everybody.
    fileprivate var callWithoutIdentity: String? {
        guard interface == BTCallName.Interface.calls, arguments.count >= 2,
            member == BTCallName.Calls.callAdded || member == BTCallName.Calls.incomingCall,
            let values = arguments[1].vardictValue, values[BTCallName.Call.number] == nil
        else { return nil }
        return arguments[0].stringValue
    }

    /// The same signal with more properties of its call.
    fileprivate func with(_ properties: [String: Value]) -> BusSignal {
        let values = (arguments[1].vardictValue ?? [:]).merging(properties) { said, _ in said }
        return BusSignal(
            sender: sender, path: path, interface: interface, member: member,
            arguments: [arguments[0], .vardict(values)])
    }
}

extension BridgeConnection {
    /// The other party's identity; empty when this program may not see it.
    fileprivate func identity(ofCallAt path: String) async -> [String: Value] {
        // A call that has just ended has no object any more.
        guard let fields = try? await properties(path, BTCallName.Interface.call) else { return await past(path) }
        return fields.values.filter { CallDescription.identity.contains($0.key) }
    }

    /// The same for a call that has just ended, from the log of calls.
    private func past(_ path: String) async -> [String: Value] {
        guard let id = BTCallPath.callID(at: path),
            // A program that may not read the log may not see the identity.
            let answer = try? await request(
                BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.log, [.uint32(Self.latest)]),
            let entry = answer.first?.arrayValue?.first(where: { $0["id"]?.stringValue == id }),
            let number = entry["number"]?.stringValue
        else { return [:] }
        let uri = CallAddress(number).uri
        return [
            BTCallName.Call.number: .string(number), BTCallName.Call.name: entry["name"] ?? "",
            BTCallName.Call.handle: .string(uri), BTCallName.Call.remoteAddress: .string(uri),
        ]
    }

    /// More calls than can end at the same moment.
    private static var latest: UInt32 { 8 }
}

extension BridgeEvent {
    /// The one call of the event.
    fileprivate var call: Call.ID? {
        switch self {
        case .callAdded(let call), .incomingCall(let call): call.id
        case .callStateChanged(let id, _, _), .callStatusChanged(let id, _, _), .callQualityChanged(let id, _),
            .callRemoved(let id, _), .callRecordedChanged(let id, _), .recordingDenied(let id, _),
            .recordingRequested(let id, _), .cameraSettingsChanged(let id, _), .mediaChangeRequested(let id, _),
            .callTalkChanged(let id, _, _):
            id
        case .daemonAppeared, .daemonVanished, .routeChanged, .activationFailed, .mutedChanged, .doNotDisturbChanged,
            .speakingWhileMuted, .buttonPressed, .headsetEvent, .headsetChanged, .devicesChanged, .problemsChanged,
            .stateChanged, .settingChanged:
            nil
        }
    }

    /// The events of a daemon's signal; empty when the signal is unknown or does not have the promised shape.
    static func events(of signal: BusSignal) -> [BridgeEvent] {
        let texts = signal.arguments.map { $0.stringValue ?? "" }
        switch (signal.interface, signal.member) {
        case (BTCallName.Interface.router, BTCallName.Router.routeChanged):
            guard texts.count >= 3, let old = DeviceChoice(texts[0]), let new = DeviceChoice(texts[1]) else {
                return []
            }
            return [.routeChanged(old: old, new: new, reason: texts[2])]
        case (BTCallName.Interface.router, BTCallName.Router.activationFailed):
            guard let device = texts.first.flatMap({ DeviceChoice($0) }) else { return [] }
            return [.activationFailed(device: device)]
        case (BTCallName.Interface.calls, BTCallName.Calls.callAdded):
            guard signal.arguments.count >= 2, let values = signal.arguments[1].vardictValue else { return [] }
            // Leaves out a call that cannot be read: the list of calls will report the reason.
            guard let call = try? CallDescription(Fields(values, of: signal.member)) else { return [] }
            return [.callAdded(Call(call))]
        case (BTCallName.Interface.calls, BTCallName.Calls.incomingCall),
            (BTCallName.Interface.calls, BTCallName.Calls.cameraSettingsChanged):
            return announcement(signal)
        case (BTCallName.Interface.calls, BTCallName.Calls.callRemoved):
            guard texts.count >= 2 else { return [] }
            return [.callRemoved(Call.ID(path: texts[0]), reason: texts[1].nonEmpty)]
        case (BTCallName.Interface.call, BTCallName.Call.stateChanged):
            guard texts.count >= 2, let state = Call.State(rawValue: texts[0]) else { return [] }
            return [.callStateChanged(Call.ID(path: signal.path), state, reason: texts[1].nonEmpty)]
        case (BTCallName.Interface.call, BTCallName.Call.statusChanged):
            guard texts.count >= 2, let status = CallStatus(rawValue: texts[0]) else { return [] }
            return [.callStatusChanged(Call.ID(path: signal.path), status, reason: texts[1].nonEmpty)]
        case (BTCallName.Interface.call, BTCallName.Call.mediaChangeRequested):
            let media = signal.arguments.first?.vardictValue ?? [:]
            return [.mediaChangeRequested(Call.ID(path: signal.path), CallMedia(media))]
        case (BTCallName.Interface.audio, BTCallName.Audio.speakingWhileMuted):
            return [.speakingWhileMuted]
        case (BTCallName.Interface.audio, BTCallName.Audio.recordingDenied):
            guard texts.count >= 2 else { return [] }
            return [.recordingDenied(Call.ID(path: texts[0]), client: texts[1])]
        case (BTCallName.Interface.audio, BTCallName.Audio.recordingRequested):
            guard texts.count >= 2 else { return [] }
            return [.recordingRequested(Call.ID(path: texts[0]), client: texts[1])]
        case (BTCallName.Interface.headset, BTCallName.Headset.buttonPressed):
            guard let button = texts.first, let address = BTCallPath.headsetAddress(at: signal.path) else { return [] }
            return [.buttonPressed(address: "\(address)", button: button)]
        case (BTCallName.Interface.headset, BTCallName.Headset.vendorEvent):
            guard texts.count >= 2, let values = signal.arguments[1].stringsValue,
                let address = BTCallPath.headsetAddress(at: signal.path)
            else { return [] }
            return [.headsetEvent(address: "\(address)", event: texts[0], values: values)]
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard signal.arguments.count >= 2, let values = signal.arguments[1].vardictValue else { return [] }
            return propertyEvents(interface: texts[0], path: signal.path, Fields(values, of: texts[0]))
        default:
            return []
        }
    }

    /// The events of a call other than its states.
    private static func announcement(_ signal: BusSignal) -> [BridgeEvent] {
        guard signal.arguments.count >= 2, let path = signal.arguments[0].stringValue,
            let values = signal.arguments[1].vardictValue
        else { return [] }
        let fields = Fields(values, of: signal.member)
        // Leaves out what cannot be read, as with every signal.
        if signal.member == BTCallName.Calls.incomingCall {
            return (try? CallDescription(fields)).map { [.incomingCall(Call($0))] } ?? []
        }
        guard let settings = try? CameraDescription(fields) else { return [] }
        return [.cameraSettingsChanged(Call.ID(path: path), CameraSettings(settings))]
    }

    private static func propertyEvents(interface: String, path: String, _ fields: Fields) -> [BridgeEvent] {
        switch interface {
        case BTCallName.Interface.call:
            return callEvents(Call.ID(path: path), fields)
        case BTCallName.Interface.calls:
            let muted = fields.values[BTCallName.Calls.muted]?.boolValue.map { BridgeEvent.mutedChanged($0) }
            let quiet = fields.values[BTCallName.Calls.doNotDisturb]?.boolValue
            return [muted, quiet.map { .doNotDisturbChanged($0) }].compactMap { $0 }
        case BTCallName.Interface.manager:
            return managerEvents(fields)
        case BTCallName.Interface.router:
            return settingEvents(settings, fields) + deviceEvents(fields)
        case BTCallName.Interface.headset:
            return headsetEvents(path, fields)
        case BTCallName.Interface.session:
            return settingEvents(sessionSettings, fields)
        case BTCallName.Interface.audio:
            return settingEvents(voiceSettings, fields)
        default:
            return []
        }
    }

    private static func callEvents(_ call: Call.ID, _ fields: Fields) -> [BridgeEvent] {
        var events: [BridgeEvent] = []
        if let quality = fields.values[BTCallName.Call.quality]?.integerValue {
            events.append(.callQualityChanged(call, (0...100).contains(quality) ? Int(quality) : nil))
        }
        if let isRecorded = fields.values[BTCallName.Call.recording]?.boolValue {
            events.append(.callRecordedChanged(call, isRecorded))
        }
        if let state = fields.values[BTCallName.Call.talkState]?.stringValue.flatMap(TalkState.init(rawValue:)) {
            let holder = fields.values[BTCallName.Call.talkHolder]?.stringValue?.nonEmpty
            events.append(.callTalkChanged(call, state, holder: holder))
        }
        return events
    }

    private static func managerEvents(_ fields: Fields) -> [BridgeEvent] {
        var events: [BridgeEvent] = []
        if let state = fields.values[BTCallName.Manager.state]?.stringValue.flatMap(BridgeStatus.State.init(rawValue:))
        {
            events.append(.stateChanged(state))
        }
        if fields.values[BTCallName.Manager.problems] != nil {
            // Leaves out entries that cannot be read.
            let problems = (try? fields.dictionaries(BTCallName.Manager.problems)) ?? []
            events.append(
                .problemsChanged(problems.compactMap { try? ProblemDescription($0) }.map { BridgeProblem($0) }))
        }
        return events
    }

    private static func headsetEvents(_ path: String, _ fields: Fields) -> [BridgeEvent] {
        guard let address = BTCallPath.headsetAddress(at: path) else { return [] }
        return settingEvents(headsetReports, fields).compactMap { event in
            guard case .settingChanged(let name, let value) = event else { return nil }
            return .headsetChanged(address: "\(address)", name: name, value: value)
        }
    }

    private static let headsetReports = [
        (BTCallName.Headset.microphoneMuted, "microphoneMuted"), (BTCallName.Headset.powerSource, "powerSource"),
        (BTCallName.Headset.enhancedSafety, "enhancedSafety"), (BTCallName.Headset.talk, "talk"),
    ]

    private static func deviceEvents(_ fields: Fields) -> [BridgeEvent] {
        guard fields.values[BTCallName.Router.devices] != nil else { return [] }
        // Leaves out entries that cannot be read.
        let devices = (try? fields.dictionaries(BTCallName.Router.devices)) ?? []
        return [.devicesChanged(devices.compactMap { try? DeviceDescription($0) }.map { AudioDevice($0) })]
    }

    /// The properties that ``BridgeEvent/settingChanged(name:value:)`` covers; the route has its own signal.
    private static let settings = [
        (BTCallName.Router.started, "started"), (BTCallName.Router.preferred, "preferred"),
        (BTCallName.Router.defaultDevice, "default"), (BTCallName.Router.selected, "selected"),
        (BTCallName.Router.pending, "pending"), (BTCallName.Router.mode, "mode"), (BTCallName.Router.codec, "codec"),
        (BTCallName.Router.interruptions, "interruptions"),
    ]

    private static let sessionSettings = [
        (BTCallName.Session.manual, "sessionManual"), (BTCallName.Session.active, "sessionActive"),
    ]

    private static let voiceSettings = [
        (BTCallName.Audio.voiceProcessing, "voiceProcessing"),
        (BTCallName.Audio.voiceProcessingBypassed, "voiceProcessingBypassed"),
        (BTCallName.Audio.voiceProcessor, "voiceProcessor"), (BTCallName.Audio.echoCancellation, "echoCancellation"),
        (BTCallName.Audio.noiseSuppression, "noiseSuppression"), (BTCallName.Audio.automaticGain, "automaticGain"),
        (BTCallName.Audio.highPass, "highPass"),
    ]

    private static func settingEvents(_ settings: [(String, String)], _ fields: Fields) -> [BridgeEvent] {
        settings.compactMap { property, name in
            guard let value = fields.values[property] else { return nil }
            let text =
                value.boolValue.map { String($0) } ?? value.stringValue
                ?? value.stringsValue?.joined(separator: ", ")
            return .settingChanged(name: name, value: text?.nonEmpty)
        }
    }
}
