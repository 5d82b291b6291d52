import AudioEngine
package import AudioPaths
import BTCallAPI
import CallControl
package import Configuration
package import ControlLoop
package import DBus
import Routing

/// `org.btcall.Session1` at `/org/btcall/session`: gives the calls audio only while external call control holds the session,
/// and registers programs that configure local devices.
@ControlPlane
package final class SessionObject {
    private let bus: BusConnection
    private let settings: Settings
    private let configurator: AudioConfigurator
    private let router: any RouteDeciding
    private let holders = LeaseList<Void>()

    package init(bus: BusConnection, settings: Settings, audio: AudioParts, router: any RouteDeciding) {
        self.bus = bus
        self.settings = settings
        configurator = audio.devices.configurator
        self.router = router
        holders.onReleased = { [weak self] _ in self?.holdersLeft() }
        bus.export([interface], at: BTCallPath.session)
        audio.graph.opened.subscribe(self) { $0.show($1.1, of: $1.0) }
        settings.changes.subscribe(self) { session, change in
            guard change.new.routing.manualAudio != change.old.routing.manualAudio else { return }
            session.changed(BTCallName.Session.manual)
        }
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

    /// Ends the session without signals when the daemon stops.
    package func close() { holders.removeAll() }

    private func activate(_ call: MethodCall) throws(APIError) -> [Value] {
        _ = try call.fields(0, .activateSession)
        let wasActive = isActive
        let descriptor = try holders.add((), of: call.sender)
        if !wasActive {
            router.handle(.sessionActivated)
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
        router.handle(.sessionDeactivated)
        changed(BTCallName.Session.active)
    }

    private func activeValue() -> Value { .bool(isActive) }

    private func manualValue() -> Value { .bool(settings.configuration.routing.manualAudio) }

    private func setManual(_ value: Value) throws(APIError) {
        let name = "\(ConfigurationSection.routing.settingPrefix).\(RoutingKey.manualAudio.rawValue)"
        try settings.set(name, value.boolValue ?? false ? "true" : "false")
    }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.session, interface: BTCallName.Interface.session, [property])
    }

    // MARK: Local devices

    /// The local device last opened for calls.
    private var opened: OpenedAudioDescription? {
        didSet { if opened != oldValue { changed(BTCallName.Session.opened) } }
    }

    private func show(_ path: ALSAPath, of device: LocalDevice) {
        guard path.playbackRate > 0 else { return }
        let period = Double(path.playbackPeriodFrames) * 1000 / Double(path.playbackRate)
        opened = OpenedAudioDescription(
            device: DeviceWord(device.rawValue) ?? .none, period: period, rate: path.playbackRate)
    }

    private func openedValue() -> Value { .vardict(opened?.fields ?? [:]) }

    private func registerConfigurator(_ call: MethodCall) throws(APIError) {
        try configurator.register(busName: call.sender, path: call.path(0, "configurator"))
    }

    private func unregisterConfigurator(_ call: MethodCall) throws(APIError) {
        try configurator.unregister(busName: call.sender, path: call.path(0, "configurator"))
    }
}
