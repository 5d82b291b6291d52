package import BTCallAPI
package import BluetoothTypes
package import ControlLoop
package import DBus
package import Routing

/// `org.btcall.Router1` at `/org/btcall/router`.
@ControlPlane
package final class RouterObject {
    private let bus: BusConnection
    package let router: RouteController
    private let describe: @ControlPlane () -> [DeviceDescription]
    private let codec: @ControlPlane (BluetoothAddress) -> VoiceCodec?
    private var shown = RouterState()
    private let onPreference: @ControlPlane () -> Void
    package let interruptions: Interruptions
    package let selections: HeldSelections
    /// When the state of a headset changes by itself.
    private var timer: Timer?
    package let notes: @ControlPlane () -> [String]

    /// - Parameters:
    ///   - describe: the devices with what only the headsets' side knows (names, batteries, codecs).
    ///   - codec: of a headset's open link.
    ///   - onPreference: the preferred or the default device was set.
    ///   - notes: what the board has to add to an explanation.
    package init(
        bus: BusConnection, router: RouteController, interruptions: Interruptions,
        describe: @escaping @ControlPlane () -> [DeviceDescription],
        codec: @escaping @ControlPlane (BluetoothAddress) -> VoiceCodec?,
        onPreference: @escaping @ControlPlane () -> Void,
        notes: @escaping @ControlPlane () -> [String] = { [] }
    ) {
        self.bus = bus
        self.router = router
        self.interruptions = interruptions
        selections = HeldSelections(router: router)
        self.describe = describe
        self.codec = codec
        self.onPreference = onPreference
        self.notes = notes
        bus.export([interface()], at: BTCallPath.router)
        shown = state()
    }

    package func state() -> RouterState {
        let policy = router.policy
        var codec: VoiceCodec?
        if let address = policy.current?.address { codec = self.codec(address) }
        return RouterState(
            isStarted: policy.started, preferred: Self.word(policy.preferred),
            defaultDevice: Self.word(policy.defaultDevice), selected: Self.word(policy.selected(at: ControlLoop.now)),
            activeRoute: Self.word(policy.current?.device ?? .none),
            pending: Self.word(policy.pending?.device ?? .none), mode: policy.current?.mode?.rawValue,
            codec: codec?.description, reason: policy.reason?.rawValue, devices: describe(),
            interruptions: interruptions.sources)
    }

    /// The daemon stops.
    package func close() {
        timer?.cancel()
        timer = nil
        selections.close()
    }

    /// Emits what differs from what was shown last.
    package func refresh() {
        followTime()
        let now = state()
        guard now != shown else { return }
        let old = shown.properties
        let changed = now.properties.filter { old[$0.key] != $0.value }.keys.sorted()
        shown = now
        bus.propertiesChanged(path: BTCallPath.router, interface: BTCallName.Interface.router, changed)
    }

    private func followTime() {
        timer?.cancel()
        timer = router.policy.nextStateChange(after: ControlLoop.now).map { time in
            ControlLoop.shared.schedule(at: time) { [weak self] in
                self?.timer = nil
                self?.refresh()
            }
        }
    }

    package func show(_ notice: RouteController.Notice) {
        typealias Name = BTCallName.Router
        switch notice {
        case .routeChanged(let old, let new, let reason):
            emit(
                Name.routeChanged,
                [
                    .string((old?.device ?? .none).description), .string((new?.device ?? .none).description),
                    .string(reason.rawValue),
                ])
        case .activationFailed(let address): emit(Name.activationFailed, [.string("bluetooth:\(address)")])
        case .devicesChanged, .stateChanged: refresh()
        }
    }

    private func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.router, interface: BTCallName.Interface.router, member: member, arguments)
    }

    private static func word(_ device: AudioDevice) -> DeviceWord {
        switch device {
        case .none: .none
        case .speakerphone: .speakerphone
        case .wiredHeadset: .wiredHeadset
        case .earpiece: .earpiece
        case .bluetooth: .bluetooth
        case .headset(let address): .headset(address)
        }
    }

    package static func device(_ text: String) throws(APIError) -> AudioDevice {
        guard let device = AudioDevice(parsing: text) else {
            throw APIError(.invalidArgument, "\"\(text)\" is no device; accepted: \(DeviceWord.accepted)")
        }
        return device
    }

    private func select(_ device: AudioDevice) throws(APIError) {
        try checkSelection(of: device)
        router.handle(.select(device))
    }

    package func checkSelection(of device: AudioDevice) throws(APIError) {
        switch router.refusal(ofSelecting: device) {
        case nil: return
        case .notStarted: throw APIError(.notStarted, "the router is stopped: start it first (`btcall start`)")
        case .unavailable, .activationFailed:
            guard device != .none else {
                throw APIError(
                    .unavailable,
                    "none is no device to select: ClearSelection (btcall select --clear) takes a selection back")
            }
            throw APIError(.unavailable, "\(device) is not available now: `btcall devices` says why")
        }
    }

    package static func description(of explanation: Explanation) -> ExplanationDescription {
        ExplanationDescription(
            chosen: word(explanation.target?.device ?? .none), level: explanation.chosen?.rawValue ?? "",
            reason: explanation.reason?.rawValue ?? "",
            levels: explanation.levels.map { finding in
                let measure = finding.verdict.measure
                return .init(
                    name: finding.level.name, spec: finding.spec ?? "",
                    candidate: finding.candidate?.device.description ?? "", verdict: finding.verdict.text,
                    isEligible: finding.verdict.kind == .eligible,
                    value: measure.map { "\($0.value) \($0.unit)" } ?? "",
                    limit: measure.map { "\($0.limit) \($0.unit)" } ?? "")
            },
            next: explanation.next.map { next in
                .init(
                    action: next.word, device: next.device?.description ?? "",
                    remaining: next.remaining?.milliseconds)
            },
            text: explanation.description.split(separator: "\n").map(String.init))
    }

    private func interface() -> ExportedInterface {
        typealias Name = BTCallName.Router
        let router = router
        func simple(_ name: String, _ event: RoutingEvent) -> ExportedInterface.Method {
            .init(name) { _ async throws(BusError) in
                router.handle(event)
                return []
            }
        }
        func property(_ name: String, _ signature: String) -> ExportedInterface.Property {
            .init(name, signature, get: { [weak self] in self?.state().properties[name] ?? "" })
        }
        func preference(_ name: String, _ event: @escaping (AudioDevice) -> RoutingEvent) -> ExportedInterface.Property
        {
            .init(
                name, "s", get: { [weak self] in self?.state().properties[name] ?? "" },
                set: { [weak self] value throws(BusError) in
                    do throws(APIError) {
                        let device = try Self.device(TextLimit.word.check(value.stringValue ?? "", name))
                        self?.router.handle(event(device))
                        self?.onPreference()
                    } catch {
                        throw error.busError
                    }
                })
        }
        return ExportedInterface(
            BTCallName.Interface.router,
            methods: [
                simple(Name.start, .start), simple(Name.stop, .stop),
                .init(Name.select, in: [("device", "s")]) { [weak self] call async throws(BusError) in
                    try reply { () throws(APIError) in
                        try self?.select(Self.device(text(call, 0, "device", .word)))
                        return []
                    }
                },
                simple(Name.clearSelection, .clearSelection), simple(Name.refresh, .refresh),
                .init(Name.explain, in: [("options", "a{sv}")], out: [("explanation", "a{sv}")], isReading: true) {
                    [weak self] call async throws(BusError) in
                    try reply { () throws(APIError) in
                        let options = try Fields(argument(call, 0), of: "the options of Explain")
                        return [.vardict(try self?.explain(options).fields ?? [:])]
                    }
                },
                incidentMethod(),
            ] + heldMethods(),
            signals: [
                .init(Name.routeChanged, [("old", "s"), ("new", "s"), ("reason", "s")]),
                .init(Name.activationFailed, [("device", "s")]),
            ],
            properties: [
                property(Name.started, "b"), preference(Name.preferred) { .setPreferred($0) },
                preference(Name.defaultDevice) { .setDefault($0) }, property(Name.selected, "s"),
                property(Name.activeRoute, "s"), property(Name.pending, "s"), property(Name.mode, "s"),
                property(Name.codec, "s"), property(Name.reason, "s"), property(Name.devices, "aa{sv}"),
                property(Name.interruptions, "as"),
            ])
    }
}
