package import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus

/// What `Manager1` needs from the daemon.
@ControlPlane
package protocol Activating: AnyObject {
    var state: ManagerDescription.State { get }
    func activate() async throws(APIError)
    func deactivate() async throws(APIError)
    func logout(forgettingHeadsets: Bool) async throws(APIError)
}

/// `org.btcall.Manager1` at `/org/btcall`.
@ControlPlane
package final class ManagerObject {
    private let bus: BusConnection

    package init(
        bus: BusConnection, daemon: any Activating, problems: ProblemList, settings: Settings, quirks: HeadsetQuirks,
        headsets: HeadsetDirectory, boardBattery: BoardBattery, logReaders: LogReaders,
        metrics: @escaping @ControlPlane () -> String
    ) {
        self.bus = bus
        typealias Name = BTCallName.Manager
        let interface = ExportedInterface(
            BTCallName.Interface.manager,
            methods: [
                .init(Name.activate) { [weak daemon] _ async throws(BusError) in
                    try await asyncReply { () async throws(APIError) in try await daemon?.activate() }
                },
                .init(Name.deactivate) { [weak daemon] _ async throws(BusError) in
                    try await asyncReply { () async throws(APIError) in try await daemon?.deactivate() }
                },
            ] + Self.methods(of: settings) + Self.methods(of: quirks) + Self.methods(of: headsets)
                + Self.logMethods(logReaders) + Self.metricsMethods(metrics) + [Self.logout(of: daemon)],
            properties: [
                .init(Name.version, "s", changes: .constant, get: { .string(Daemon.version) }),
                .init(Name.state, "s", get: { [weak daemon] in .string(daemon?.state.rawValue ?? "inactive") }),
                .init(
                    Name.problems, "aa{sv}",
                    get: {
                        .vardicts(
                            problems.problems.map {
                                ProblemDescription(id: $0.id, what: $0.what, remedy: $0.remedy).fields
                            })
                    }),
                Self.property(of: boardBattery),
                Self.configuration(of: settings),
            ])
        bus.export([interface], at: BTCallPath.manager)
        problems.onChange = { [weak self] in self?.changed(Name.problems) }
    }

    package func stateChanged() { changed(BTCallName.Manager.state) }

    package func boardBatteryChanged() { changed(BTCallName.Manager.boardBattery) }

    package func configurationChanged() { changed(BTCallName.Manager.configuration) }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.manager, interface: BTCallName.Interface.manager, [property])
    }
}
