package import BlueZ
import BoardControl
package import Configuration
package import ControlLoop
package import Diagnostics
import Glibc
package import Logging

/// Where the controllers send voice: to the host, or to their own PCM pins, where btcalld cannot hear it.
///
/// A helper program with the privilege for it configures controllers of Broadcom and Cypress each time they appear or are
/// switched on, because a reset clears the setting. The advice for a controller with silent links is here as well.
@ControlPlane
package final class VoiceRouting {
    private struct Controller {
        let name: String
        let maker: Int?
        /// Whether a headset's packet has come through it since it appeared.
        var isHeard = false
        /// Result of the helper.
        var outcome: Outcome?
        var contest = ForeignChangeGuard()
        /// The helper runs because a link was silent.
        var isChecked = false
    }

    private enum Outcome { case routed, failed }

    package static let helperLimit = Duration.seconds(10)
    private let helper: [String]
    private let facts: ControllerFacts
    private let problems: ProblemList
    private let logger: Logger
    private var setting: VoiceRoutingSetting
    /// Controllers that are on, by the path of their adapter.
    private var controllers: [String: Controller] = [:]
    /// Adapters whose helper is running; true: run it again afterwards.
    private var running: [String: Bool] = [:]

    /// - Parameter helper: program and first arguments; the controller's name follows.
    package init(
        _ setting: VoiceRoutingSetting, helper: [String], facts: ControllerFacts, problems: ProblemList, logger: Logger
    ) {
        self.setting = setting
        self.helper = helper
        self.facts = facts
        self.problems = problems
        self.logger = logger
    }

    /// The installed helper, otherwise the one beside this program.
    package nonisolated static var installedHelper: [String] {
        let installed = "/usr/libexec/btcall-sco-routing"
        if access(installed, X_OK) == 0 { return [installed] }
        var bytes = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &bytes, bytes.count)
        guard count > 0, let end = bytes[..<count].lastIndex(of: CChar(bitPattern: UInt8(ascii: "/"))) else {
            return [installed]
        }
        let directory = String(decoding: bytes[...end].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = directory + "btcall-sco-routing"
        return [access(beside, X_OK) == 0 ? beside : installed]
    }

    /// Takes all present adapters.
    package func adaptersChanged(_ adapters: [DeviceRegistry.Adapter]) {
        let present = adapters.filter(\.powered)
        for path in controllers.keys.sorted() where !present.contains(where: { $0.path == path }) {
            if let gone = controllers.removeValue(forKey: path) { problems.end(Self.problem(gone.name)) }
        }
        for adapter in present where controllers[adapter.path] == nil {
            controllers[adapter.path] = Controller(name: adapter.controller, maker: facts.manufacturer(of: adapter))
            if setting == .host { route(adapter.path) }
        }
    }

    package func follow(_ setting: VoiceRoutingSetting) {
        guard setting != self.setting else { return }
        self.setting = setting
        for path in controllers.keys { controllers[path]?.contest.reset() }
        for (path, controller) in controllers.sorted(by: { $0.key < $1.key }) {
            if setting == .host { route(path) } else { problems.end(Self.problem(controller.name)) }
        }
    }

    /// A headset's packet came through this adapter: voice reaches the host.
    package func packetCame(through path: String?) {
        if let path { controllers[path]?.isHeard = true }
    }

    /// A headset's link through this adapter was up and nothing came in: another program may have changed the routing.
    package func nothingCame(through path: String?) {
        guard let path, let controller = controllers[path], setting == .host, controller.outcome == .routed else {
            return
        }
        switch controllers[path]?.contest.changed(at: ControlLoop.now) {
        case .reassert:
            controllers[path]?.isChecked = true
            route(path)
        case .yield:
            logger.warning(
                "foreign-change: \(controller.name): voice does not reach the host, left to the other program")
            problems.begin(
                Self.problem(controller.name),
                what: "\(controller.name): another program keeps changing where the controller sends voice",
                remedy: "stop it (a script with `hcitool cmd` or `brcm_patchram_plus --scopcm`, or another hands-free"
                    + " program); set again when the adapter is switched off and on, or by Router1.Refresh")
        case .ignore, nil: break
        }
    }

    /// Sets the routing again, even where it was left to another program.
    package func refresh() {
        for path in controllers.keys.sorted() where controllers[path]?.contest.hasYielded == true {
            controllers[path]?.contest.reset()
            if setting == .host { route(path) }
        }
    }

    /// Remarks for `btcall why`.
    package var notes: [String] {
        guard setting == .host else { return [] }
        return controllers.values.filter(\.contest.hasYielded).map(\.name).sorted().map { name in
            "\(name): another program changed where it sends voice \(ForeignChangeGuard.limit) times in"
                + " \(ForeignChangeGuard.window.components.seconds) s, left until the adapter is switched off and on"
                + " or Refresh"
        }
    }

    /// Explains why a link through this adapter may be up without incoming audio, and what to do.
    package func advice(_ path: String?) -> String {
        guard let controller = path.flatMap({ controllers[$0] }) else {
            return "if this is so for every headset, the controller sends voice to its PCM pins instead of the host"
        }
        return SilentLinkAdvice.text(
            controller: controller.name, maker: controller.maker, isHeard: controller.isHeard, setting: setting,
            isRouted: controller.outcome == .routed, isContested: setting == .host && controller.contest.hasYielded)
    }

    // MARK: The helper

    private static func problem(_ controller: String) -> String { "scoRouting.\(controller)" }

    private func route(_ path: String) {
        guard running[path] == nil else {
            running[path] = true
            return
        }
        running[path] = false
        Task { @ControlPlane in
            await run(path)
            let again = running.removeValue(forKey: path) ?? false
            if again, setting == .host, controllers[path] != nil { route(path) }
        }
    }

    private func run(_ path: String) async {
        guard let name = controllers[path]?.name else { return }
        let report: ControlLoop.ChildReport
        do throws(SystemError) {
            report = try await ControlLoop.shared.run(helper + [name], within: Self.helperLimit, keeping: 1000)
        } catch {
            failed(
                path, "\(name): the voice routing is not set: \(error)",
                error.code == EPERM
                    // No setting needed a program when the daemon started.
                    ? "restart btcalld: it gave up starting programs, and `scoRouting = host` needs one"
                    : "install btcall again, which has /usr/libexec/btcall-sco-routing")
            return
        }
        let line = Self.lastLine(report.output)
        if report.status == 0 {
            logger.notice("\(line ?? "\(name): voice goes to the host")")
            succeeded(path, wasChanged: line?.hasSuffix("already") != true)
            return
        }
        let what = report.wasKilled ? "it did not end within \(Self.helperLimit)" : line ?? "status \(report.status)"
        failed(
            path, "\(name): the voice routing is not set: \(Self.withoutName(what, name))",
            report.status == 3
                ? "`btcall config bluetooth.scoRouting leave`" : "tried again when the adapter is switched off and on")
    }

    /// - Parameter wasChanged: whether the controller had sent voice elsewhere.
    private func succeeded(_ path: String, wasChanged: Bool) {
        guard var controller = controllers[path] else { return }
        if controller.isChecked, wasChanged {
            logger.notice("foreign-change: \(controller.name): another program sent voice elsewhere, set again")
        } else if controller.isChecked, !controller.contest.hasYielded {
            // The silence has another cause.
            controller.contest.reset()
        }
        controller.isChecked = false
        controller.outcome = .routed
        controllers[path] = controller
        if !controller.contest.hasYielded { problems.end(Self.problem(controller.name)) }
    }

    private func failed(_ path: String, _ what: String, _ remedy: String) {
        // The adapter is gone or off, or the setting has changed meanwhile.
        guard let name = controllers[path]?.name, running[path] == false, setting == .host else { return }
        controllers[path]?.outcome = .failed
        controllers[path]?.isChecked = false
        problems.begin(Self.problem(name), what: what, remedy: remedy)
    }

    private static func lastLine(_ output: String) -> String? {
        output.split(whereSeparator: \.isNewline).last.map { String($0) }
    }

    private static func withoutName(_ line: String, _ name: String) -> String {
        line.hasPrefix("\(name): ") ? String(line.dropFirst(name.count + 2)) : line
    }
}
