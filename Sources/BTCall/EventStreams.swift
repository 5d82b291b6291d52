import BTCallAPI
import ControlLoop
import DBus

extension BridgeConnection {
    /// A stream of everything that the daemon signals.
    func events() -> AsyncStream<BridgeEvent> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: BridgeEvent.self, bufferingPolicy: .bufferingNewest(1024))
        let source = EventSource(on: connection, continuation)
        continuation.onTermination = { _ in
            Task { @ControlPlane in source.cancel() }
        }
        streams.removeAll { $0.isCancelled }
        streams.append(source)
        return stream
    }
}

/// The subscriptions that feed one stream of events.
@ControlPlane
final class EventSource {
    private let continuation: AsyncStream<BridgeEvent>.Continuation
    private var subscriptions: [Subscription] = []
    private var wasPresent = false
    private(set) var isCancelled = false

    init(on connection: BusConnection, _ continuation: AsyncStream<BridgeEvent>.Continuation) {
        self.continuation = continuation
        subscriptions = [
            connection.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) },
            connection.subscribe(sender: BTCallName.bus, pathNamespace: BTCallPath.manager) { [weak self] signal in
                self?.received(signal)
            },
        ]
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        for subscription in subscriptions {
            subscription.cancel()
        }
        subscriptions = []
        continuation.finish()
    }

    private func ownerChanged(_ owner: String?) {
        guard (owner != nil) != wasPresent else { return }
        wasPresent = owner != nil
        continuation.yield(wasPresent ? .daemonAppeared : .daemonVanished)
    }

    private func received(_ signal: Signal) {
        for event in BridgeEvent.events(of: signal) {
            continuation.yield(event)
        }
    }
}

extension BridgeEvent {
    /// What a signal of the daemon says; nothing when it is not known here or does not have the promised shape.
    static func events(of signal: Signal) -> [BridgeEvent] {
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
            // A call that cannot be read is left out: the list of calls will say why.
            guard let call = try? CallDescription(Fields(values, of: signal.member)) else { return [] }
            return [.callAdded(Call(call))]
        case (BTCallName.Interface.calls, BTCallName.Calls.callRemoved):
            guard texts.count >= 2 else { return [] }
            return [.callRemoved(Call.ID(path: texts[0]), reason: texts[1].nonEmpty)]
        case (BTCallName.Interface.call, BTCallName.Call.stateChanged):
            guard texts.count >= 2, let state = Call.State(rawValue: texts[0]) else { return [] }
            return [.callStateChanged(Call.ID(path: signal.path), state, reason: texts[1].nonEmpty)]
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
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard signal.arguments.count >= 2, let values = signal.arguments[1].vardictValue else { return [] }
            return propertyEvents(interface: texts[0], path: signal.path, Fields(values, of: texts[0]))
        default:
            return []
        }
    }

    private static func propertyEvents(interface: String, path: String, _ fields: Fields) -> [BridgeEvent] {
        switch interface {
        case BTCallName.Interface.call:
            return callEvents(Call.ID(path: path), fields)
        case BTCallName.Interface.calls:
            guard let muted = fields.values[BTCallName.Calls.muted]?.boolValue else { return [] }
            return [.mutedChanged(muted)]
        case BTCallName.Interface.manager:
            return managerEvents(fields)
        case BTCallName.Interface.router:
            return settingEvents(settings, fields) + deviceEvents(fields)
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
        return events
    }

    private static func managerEvents(_ fields: Fields) -> [BridgeEvent] {
        var events: [BridgeEvent] = []
        if let state = fields.values[BTCallName.Manager.state]?.stringValue.flatMap(BridgeStatus.State.init(rawValue:))
        {
            events.append(.stateChanged(state))
        }
        if fields.values[BTCallName.Manager.problems] != nil {
            // What cannot be read is left out of the list.
            let problems = (try? fields.dictionaries(BTCallName.Manager.problems)) ?? []
            events.append(
                .problemsChanged(problems.compactMap { try? ProblemDescription($0) }.map { BridgeProblem($0) }))
        }
        return events
    }

    private static func deviceEvents(_ fields: Fields) -> [BridgeEvent] {
        guard fields.values[BTCallName.Router.devices] != nil else { return [] }
        // What cannot be read is left out of the list.
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
