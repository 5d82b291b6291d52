import BTCallAPI
package import Configuration
package import ControlLoop
package import DBus
package import Diagnostics
package import HeadsetControl

/// `org.btcall.Manager1` at `/org/btcall`.
@ControlPlane
package final class ManagerObject {
    private let bus: BusConnection
    private let version: String
    private(set) weak var daemon: (any Activating)?
    private let problems: ProblemList
    let settings: Settings
    let quirks: HeadsetQuirks
    let headsets: HeadsetDirectory
    let boardBattery: BoardBattery
    private let logReaders: LogReaders

    /// - Parameter version: of the daemon.
    package init(
        bus: BusConnection, version: String, daemon: any Activating, problems: ProblemList, settings: Settings,
        quirks: HeadsetQuirks, headsets: HeadsetDirectory, boardBattery: BoardBattery, logReaders: LogReaders
    ) {
        self.bus = bus
        self.version = version
        self.daemon = daemon
        self.problems = problems
        self.settings = settings
        self.quirks = quirks
        self.headsets = headsets
        self.boardBattery = boardBattery
        self.logReaders = logReaders
        bus.export([interface], at: BTCallPath.manager)
        problems.onChange = { [weak self] in self?.changed(BTCallName.Manager.problems) }
    }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Manager
        return ExportedInterface(
            BTCallName.Interface.manager,
            methods: [
                .init(Name.activate, by: activate),
                .init(Name.deactivate, by: deactivate),
                .init(Name.listSettings, out: [("settings", "aa{sv}")], isReading: true, by: listSettings),
                .init(Name.setSetting, in: [("key", "s"), ("value", "s")], by: setSetting),
                .init(Name.resetSetting, in: [("key", "s")], by: resetSetting),
                .init(Name.listQuirks, out: [("quirks", "a{sv}")], isReading: true, by: listQuirks),
                .init(
                    Name.explainQuirks, in: [("address", "s")], out: [("explanation", "a{sv}")], isReading: true,
                    by: explainQuirks),
                .init(Name.forgetCodecs, in: [("address", "s")], by: forgetCodecs),
                .init(Name.subscribeLog, out: [("lines", "h")], by: subscribeLog),
                .init(Name.metrics, out: [("text", "s")], isReading: true, by: metrics),
                .init(Name.logout, in: [("options", "a{sv}")], by: logout),
            ],
            properties: [
                .init(Name.version, "s", changes: .constant, get: versionValue),
                .init(Name.state, "s", get: stateValue),
                .init(Name.problems, "aa{sv}", get: problemsValue),
                .init(Name.boardBattery, "i", get: boardBatteryValue, by: setBoardBattery),
                .init(Name.configuration, "a{sv}", get: configurationValue, by: setConfiguration),
            ])
    }

    // MARK: Life

    private func activate(_: MethodCall) async throws(APIError) { try await daemon?.activate() }

    private func deactivate(_: MethodCall) async throws(APIError) { try await daemon?.deactivate() }

    private func versionValue() -> Value { .string(version) }

    private func stateValue() -> Value { .string((daemon?.state ?? .inactive).rawValue) }

    private func problemsValue() -> Value {
        .vardicts(problems.problems.map { ProblemDescription(id: $0.id, what: $0.what, remedy: $0.remedy).fields })
    }

    // MARK: Diagnostics

    /// Who reads the log in place of the console.
    private func subscribeLog(_ call: MethodCall) throws(APIError) -> [Value] {
        [.unixDescriptor(try logReaders.add(call.sender))]
    }

    private func metrics(_: MethodCall) -> [Value] { [.string(daemon?.metricsText ?? "")] }

    // MARK: Signals

    package func stateChanged() { changed(BTCallName.Manager.state) }

    package func boardBatteryChanged() { changed(BTCallName.Manager.boardBattery) }

    package func configurationChanged() { changed(BTCallName.Manager.configuration) }

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.manager, interface: BTCallName.Interface.manager, [property])
    }
}
