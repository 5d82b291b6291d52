package import BTCallAPI
package import ControlLoop
package import DBus
package import Routing

/// `org.btcall.Session1` at `/org/btcall/session`: audio only while external call control wants it.
@ControlPlane
package final class SessionObject {
    /// `.sessionActivated` and `.sessionDeactivated`.
    package var onEvent: (@ControlPlane (RoutingEvent) -> Void)?
    private let bus: BusConnection
    private let manual: ManualAudio
    package let configurator: AudioConfigurator
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
        bus.export([interface()], at: BTCallPath.session)
    }

    /// The local device that was opened last for calls.
    package var opened: OpenedAudioDescription? {
        didSet { if opened != oldValue { changed(BTCallName.Session.opened) } }
    }

    package var isActive: Bool { !holders.holders.isEmpty }

    /// The key has another value than before.
    package func manualChanged() { changed(BTCallName.Session.manual) }

    /// The daemon stops: nothing is told to anybody.
    package func close() { holders.removeAll() }

    private func activate(_ busName: String) throws(APIError) -> PassedDescriptor {
        let wasActive = isActive
        let descriptor = try holders.add((), of: busName)
        if !wasActive {
            onEvent?(.sessionActivated)
            changed(BTCallName.Session.active)
        }
        return descriptor
    }

    private func deactivate(_ busName: String) throws(APIError) {
        guard holders.remove(of: busName) > 0 else {
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

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.session, interface: BTCallName.Interface.session, [property])
    }

    private func interface() -> ExportedInterface {
        let manual = manual
        typealias Name = BTCallName.Session
        return ExportedInterface(
            BTCallName.Interface.session,
            methods: [
                .init(Name.activate, in: [("options", "a{sv}")], out: [("handle", "h")]) {
                    [weak self] call async throws(BusError) in
                    try reply { () throws(APIError) in
                        guard let self else { return [] }
                        return [.unixDescriptor(try self.activate(call.sender))]
                    }
                },
                .init(Name.deactivate) { [weak self] call async throws(BusError) in
                    try reply { () throws(APIError) in
                        try self?.deactivate(call.sender)
                        return []
                    }
                },
            ] + configuratorMethods,
            properties: [
                .init(Name.opened, "a{sv}", get: { [weak self] in .vardict(self?.opened?.fields ?? [:]) }),
                .init(
                    Name.manual, "b", get: { .bool(manual.get()) },
                    set: { value throws(BusError) in
                        do throws(APIError) {
                            try manual.set(value.boolValue ?? false)
                        } catch {
                            throw error.busError
                        }
                    }),
                .init(Name.active, "b", get: { [weak self] in .bool(self?.isActive ?? false) }),
            ])
    }
}
