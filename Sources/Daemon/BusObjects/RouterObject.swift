package import AudioPaths
package import BTCallAPI
package import BluetoothTypes
package import CallControl
package import ControlLoop
package import DBus
package import Routing

/// `org.btcall.Router1` at `/org/btcall/router`.
@ControlPlane
package final class RouterObject {
    private let bus: BusConnection
    let router: any RouteDeciding
    private let describe: @ControlPlane () -> [DeviceDescription]
    private let codec: @ControlPlane (BluetoothAddress) -> VoiceCodec?
    private var shown = RouterState()
    /// The preferred device that the present one replaced while there was no default.
    package private(set) var replacedPreference: AudioDevice
    private let onPreference: @ControlPlane () -> Void
    private let onReplaced: @ControlPlane (AudioDevice) -> Void
    let interruptions: Interruptions
    let selections: HeldSelections
    /// Fires when a headset's state changes by time alone.
    private var timer: Timer?
    let notes: @ControlPlane () -> [String]

    /// - Parameters:
    ///   - describe: the devices, with the headsets' own data (names, batteries, codecs).
    ///   - codec: the codec of a headset's open link.
    ///   - onPreference: called when the preferred or the default device was set.
    ///   - replacedPreference: as kept by an earlier run; `onReplaced` gets each later value.
    ///   - notes: the board's additions to an explanation.
    ///   - changes: sent when the result of `describe` may have changed.
    package init(
        bus: BusConnection, router: any RouteDeciding, interruptions: Interruptions,
        describe: @escaping @ControlPlane () -> [DeviceDescription],
        codec: @escaping @ControlPlane (BluetoothAddress) -> VoiceCodec?,
        onPreference: @escaping @ControlPlane () -> Void, replacedPreference: AudioDevice = .none,
        onReplaced: @escaping @ControlPlane (AudioDevice) -> Void = { _ in },
        notes: @escaping @ControlPlane () -> [String] = { [] }, changes: Signal<Void> = Signal()
    ) {
        self.bus = bus
        self.router = router
        self.interruptions = interruptions
        selections = HeldSelections(router: router)
        self.describe = describe
        self.codec = codec
        self.onPreference = onPreference
        self.replacedPreference = replacedPreference
        self.onReplaced = onReplaced
        self.notes = notes
        bus.export([interface], at: BTCallPath.router)
        shown = state()
        router.notices.subscribe(self) { $0.show($1) }
        interruptions.changes.subscribe(self) { $0.refresh() }
        changes.subscribe(self) { $0.refresh() }
    }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Router
        return ExportedInterface(
            BTCallName.Interface.router,
            methods: [
                .init(Name.start, by: start),
                .init(Name.stop, by: stop),
                .init(Name.select, in: [("device", "s")], by: select),
                .init(Name.clearSelection, by: clearSelection),
                .init(Name.refresh, by: refreshHardware),
                .init(
                    Name.explain, in: [("options", "a{sv}")], out: [("explanation", "a{sv}")], isReading: true,
                    by: explain),
                .init(Name.incident, in: [("options", "a{sv}")], out: [("json", "s")], isReading: true, by: incident),
                .init(
                    Name.acquireSelection, in: [("device", "s"), ("options", "a{sv}")], out: [("handle", "h")],
                    by: acquireSelection),
                .init(
                    Name.interrupt, in: [("source", "s"), ("options", "a{sv}")], out: [("handle", "h")],
                    by: interrupt),
            ],
            signals: [
                .init(Name.routeChanged, [("old", "s"), ("new", "s"), ("reason", "s")]),
                .init(Name.activationFailed, [("device", "s")]),
            ],
            properties: [
                .init(Name.started, "b", get: value(Name.started)),
                .init(Name.preferred, "s", get: value(Name.preferred), by: setPreferred),
                .init(Name.defaultDevice, "s", get: value(Name.defaultDevice), by: setDefault),
                .init(Name.replacedPreference, "s", get: value(Name.replacedPreference)),
                .init(Name.selected, "s", get: value(Name.selected)),
                .init(Name.activeRoute, "s", get: value(Name.activeRoute)),
                .init(Name.pending, "s", get: value(Name.pending)),
                .init(Name.mode, "s", get: value(Name.mode)),
                .init(Name.codec, "s", get: value(Name.codec)),
                .init(Name.reason, "s", get: value(Name.reason)),
                .init(Name.devices, "aa{sv}", get: value(Name.devices)),
                .init(Name.interruptions, "as", get: value(Name.interruptions)),
            ])
    }

    private func value(_ name: String) -> @ControlPlane () -> Value {
        { [self] in state().properties[name] ?? "" }
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
            interruptions: interruptions.sources, replacedPreference: Self.word(replacedPreference))
    }

    /// Ends held selections and timers when the daemon stops.
    package func close() {
        timer?.cancel()
        timer = nil
        selections.close()
    }

    /// Signals the properties that differ from those last shown.
    private func refresh() {
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

    private func show(_ notice: RouteNotice) {
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
        case .refreshed: break
        }
    }

    private func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.router, interface: BTCallName.Interface.router, member: member, arguments)
    }

    static func word(_ device: AudioDevice) -> DeviceWord {
        switch device {
        case .none: .none
        case .speakerphone: .speakerphone
        case .wiredHeadset: .wiredHeadset
        case .earpiece: .earpiece
        case .bluetooth: .bluetooth
        case .headset(let address): .headset(address)
        }
    }

    static func device(_ text: String) throws(APIError) -> AudioDevice {
        guard let device = AudioDevice(parsing: text) else {
            throw APIError(.invalidArgument, "\"\(text)\" is no device; accepted: \(DeviceWord.accepted)")
        }
        return device
    }

    // MARK: Members

    private func start(_: MethodCall) { router.handle(.start) }

    private func stop(_: MethodCall) { router.handle(.stop) }

    private func clearSelection(_: MethodCall) { router.handle(.clearSelection) }

    private func refreshHardware(_: MethodCall) { router.handle(.refresh) }

    private func select(_ call: MethodCall) throws(APIError) {
        let device = try Self.device(call.text(0, "device", .word))
        try checkSelection(of: device)
        router.handle(.select(device))
    }

    private func setPreferred(_ value: Value) throws(APIError) {
        try set(value, BTCallName.Router.preferred) { .setPreferred($0) }
    }

    private func setDefault(_ value: Value) throws(APIError) {
        try set(value, BTCallName.Router.defaultDevice) { .setDefault($0) }
    }

    private func set(_ value: Value, _ name: String, _ event: (AudioDevice) -> RoutingEvent) throws(APIError) {
        let device = try Self.device(TextLimit.word.check(value.stringValue ?? "", name))
        let old = router.policy.preferred
        router.handle(event(device))
        noteReplacement(of: old)
        refresh()
        onPreference()
    }

    /// Remembers that one preference took the place of another and that neither is the default: people set the second as a
    /// fallback for the first.
    private func noteReplacement(of old: AudioDevice) {
        let policy = router.policy
        if policy.preferred == .none || policy.defaultDevice != .none {
            replacedPreference = .none
        } else if old != .none, old != policy.preferred {
            replacedPreference = old
        }
        onReplaced(replacedPreference)
    }

    func checkSelection(of device: AudioDevice) throws(APIError) {
        switch router.refusal(ofSelecting: device) {
        case nil: return
        case .notStarted:
            throw APIError(.notStarted, "the router is stopped: start it first (`btcall daemon routing on`)")
        case .unavailable, .activationFailed:
            guard device != .none else {
                throw APIError(
                    .unavailable,
                    "none cannot be selected: ClearSelection (btcall move --clear) removes a selection")
            }
            guard !isExcludedByCall(device) else {
                throw APIError(
                    .unavailable,
                    "the application of a call does not let it use \(device): Call1.Routes lists what it may")
            }
            throw APIError(.unavailable, "\(device) is not available now: `btcall devices` says why")
        }
    }
    private func isExcludedByCall(_ device: AudioDevice) -> Bool {
        let word = Self.word(device)
        return describe().contains { description in
            guard description.state == DeviceState.unsupported.rawValue else { return false }
            return device == .bluetooth ? description.device.kind == word.kind : description.device == word
        }
    }
}
