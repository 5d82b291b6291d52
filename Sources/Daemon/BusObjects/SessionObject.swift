package import AudioPaths
package import BTCallAPI
import CallControl
package import ControlLoop
package import DBus
package import Routing

/// `org.btcall.Session1` at `/org/btcall/session`: audio only while external call control wants it, and who says how local
/// devices are to be opened.
@ControlPlane
package final class SessionObject {
    /// `.sessionActivated` and `.sessionDeactivated`.
    package var onEvent: (@ControlPlane (RoutingEvent) -> Void)?
    private let bus: BusConnection
    private let manual: ManualAudio
    private let configurator: AudioConfigurator
    private let holders = HolderList<Void>()

    /// The configuration key `manualAudio`, wherever it is kept.
    package struct ManualAudio {
        package let get: @ControlPlane () -> Bool
        package let set: @ControlPlane (Bool) throws(APIError) -> Void

        package init(
            get: @escaping @ControlPlane () -> Bool, set: @escaping @ControlPlane (Bool) throws(APIError) -> Void
        ) {
            self.get = get
            self.set = set
        }
    }

    package init(bus: BusConnection, manual: ManualAudio, configurator: AudioConfigurator) {
        self.bus = bus
        self.configurator = configurator
        self.manual = manual
        holders.onReleased = { [weak self] _ in self?.holdersLeft() }
        bus.export([interface], at: BTCallPath.session)
    }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Session
        return ExportedInterface(
            BTCallName.Interface.session,
            methods: [
                .init(Name.activate, in: [("options", "a{sv}")], out: [("handle", "h")], by: activate),
                .init(Name.deactivate, by: deactivate),
                .init(Name.registerConfigurator, in: [("configurator", "o")], by: registerConfigurator),
                .init(Name.unregisterConfigurator, in: [("configurator", "o")], by: unregisterConfigurator),
            ],
            properties: [
                .init(Name.opened, "a{sv}", get: openedValue),
                .init(Name.manual, "b", get: manualValue, by: setManual),
                .init(Name.active, "b", get: activeValue),
            ])
    }

    // MARK: The session

    package var isActive: Bool { !holders.holders.isEmpty }

    /// The daemon stops: nothing is told to anybody.
    package func close() { holders.removeAll() }

    private func activate(_ call: MethodCall) throws(APIError) -> [Value] {
        let wasActive = isActive
        let descriptor = try holders.add((), of: call.sender)
        if !wasActive {
            onEvent?(.sessionActivated)
            changed(BTCallName.Session.active)
        }
        return [.unixDescriptor(descriptor)]
    }

    private func deactivate(_ call: MethodCall) throws(APIError) {
        guard holders.remove(of: call.sender) > 0 else {
            throw APIError(
                .wrongState, "you do not hold the session: call Activate first, and keep its descriptor open")
        }
        holdersLeft()
    }

    private func holdersLeft() {
        guard !isActive else { return }
        onEvent?(.sessionDeactivated)
        changed(BTCallName.Session.active)
    }

    private func activeValue() -> Value { .bool(isActive) }

    private func manualValue() -> Value { .bool(manual.get()) }

    private func setManual(_ value: Value) throws(APIError) { try manual.set(value.boolValue ?? false) }

    /// The key has another value than before.
    package func manualChanged() { changed(BTCallName.Session.manual) }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.session, interface: BTCallName.Interface.session, [property])
    }

    // MARK: Local devices

    /// The local device that was opened last for calls.
    package var opened: OpenedAudioDescription? {
        didSet { if opened != oldValue { changed(BTCallName.Session.opened) } }
    }

    private func openedValue() -> Value { .vardict(opened?.fields ?? [:]) }

    private func registerConfigurator(_ call: MethodCall) throws(APIError) {
        try configurator.register(busName: call.sender, path: call.path(0, "configurator"))
    }

    private func unregisterConfigurator(_ call: MethodCall) throws(APIError) {
        try configurator.unregister(busName: call.sender, path: call.path(0, "configurator"))
    }
}
