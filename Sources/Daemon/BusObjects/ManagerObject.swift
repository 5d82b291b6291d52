package import AudioPaths
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
    private(set) weak var lifecycle: (any Activating)?
    private let problems: ProblemList
    let settings: Settings
    let quirks: HeadsetQuirks
    let headsets: HeadsetDirectory
    let boardBattery: BoardBattery
    private let logReaders: LogReaders
    private let figures: MetricsFeed
    private let cameras: CameraUse

    /// - Parameter version: the daemon's version.
    package init(
        bus: BusConnection, version: String, lifecycle: any Activating, problems: ProblemList, settings: Settings,
        headsets: HeadsetParts, cameras: CameraUse, logReaders: LogReaders, figures: MetricsFeed
    ) {
        self.bus = bus
        self.version = version
        self.lifecycle = lifecycle
        self.problems = problems
        self.settings = settings
        quirks = headsets.quirks
        self.headsets = headsets.directory
        boardBattery = headsets.boardBattery
        self.logReaders = logReaders
        self.figures = figures
        self.cameras = cameras
        bus.export([interface], at: BTCallPath.manager)
        problems.changes.subscribe(self) { $0.changed(BTCallName.Manager.problems) }
        lifecycle.stateChanges.subscribe(self) { $0.changed(BTCallName.Manager.state) }
        boardBattery.changes.subscribe(self) { $0.changed(BTCallName.Manager.boardBattery) }
        cameras.changes.subscribe(self) { $0.changed(BTCallName.Manager.cameraInUse) }
        settings.changes.subscribe(self) { manager, change in
            guard change.new.identity != change.old.identity || change.new.ownNumber != change.old.ownNumber else {
                return
            }
            manager.changed(BTCallName.Manager.configuration)
        }
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
                .init(Name.reportCameraUse, in: [("inUse", "b")], by: reportCameraUse),
            ],
            properties: [
                .init(Name.version, "s", changes: .constant, get: versionValue),
                .init(Name.state, "s", get: stateValue),
                .init(Name.problems, "aa{sv}", get: problemsValue),
                .init(Name.boardBattery, "i", get: boardBatteryValue, by: setBoardBattery),
                .init(Name.configuration, "a{sv}", get: configurationValue, by: setConfiguration),
                .init(Name.cameraInUse, "b", get: { [cameras] in .bool(cameras.isInUse) }),
            ])
    }

    // MARK: Lifecycle

    private func activate(_: MethodCall) async throws(APIError) { try await lifecycle?.activate() }

    private func deactivate(_: MethodCall) async throws(APIError) { try await lifecycle?.deactivate() }

    private func versionValue() -> Value { .string(version) }

    private func stateValue() -> Value { .string((lifecycle?.state ?? .inactive).rawValue) }

    private func problemsValue() -> Value {
        .vardicts(problems.problems.map { ProblemDescription(id: $0.id, what: $0.what, remedy: $0.remedy).fields })
    }

    // MARK: Diagnostics

    /// Adds the caller as a reader of the log, which then no longer goes to the console.
    private func subscribeLog(_ call: MethodCall) throws(APIError) -> [Value] {
        [.unixDescriptor(try logReaders.add(call.sender))]
    }

    private func metrics(_: MethodCall) -> [Value] { [.string(figures.text)] }

    // MARK: Privacy

    private func reportCameraUse(_ call: MethodCall) throws(APIError) {
        try cameras.report(call.flag(0), by: call.sender)
    }

    // MARK: Signals

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.manager, interface: BTCallName.Interface.manager, [property])
    }
}
