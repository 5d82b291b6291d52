package import BlueZ
package import Configuration
package import ControlLoop
package import Diagnostics
import Glibc
package import Logging

/// Where the controllers send voice: to the host, or past it to pins of their own, where nobody here hears it.
///
/// A controller of Broadcom or Cypress is told, by a program of its own that has the privilege, each time it appears or was
/// off: a reset forgets it. What is known of a controller whose links stay silent is put into words here as well.
@ControlPlane
package final class VoiceRouting {
    private struct Controller {
        let name: String
        let maker: Int?
        /// A packet of a headset has come through it since it appeared.
        var isHeard = false
        /// What the helper has said.
        var outcome: Outcome?
    }

    private enum Outcome { case routed, failed }

    package static let helperLimit = Duration.seconds(10)
    private let helper: [String]
    private let facts: ControllerFacts
    private let problems: ProblemList
    private let logger: Logger
    private var wish: VoiceRoutingWish
    /// Those that are on, by the path of their adapter.
    private var controllers: [String: Controller] = [:]
    /// Adapters whose helper runs; true: it has to run once more.
    private var running: [String: Bool] = [:]

    /// - Parameter helper: the program and its first arguments; the controller's name follows.
    package init(
        _ wish: VoiceRoutingWish, helper: [String], facts: ControllerFacts, problems: ProblemList, logger: Logger
    ) {
        self.wish = wish
        self.helper = helper
        self.facts = facts
        self.problems = problems
        self.logger = logger
    }

    /// The helper where it is installed, or else beside this program.
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

    /// Takes all adapters that there are now.
    package func adaptersChanged(_ adapters: [DeviceRegistry.Adapter]) {
        let present = adapters.filter(\.powered)
        for path in controllers.keys.sorted() where !present.contains(where: { $0.path == path }) {
            if let gone = controllers.removeValue(forKey: path) { problems.end(Self.problem(gone.name)) }
        }
        for adapter in present where controllers[adapter.path] == nil {
            controllers[adapter.path] = Controller(name: adapter.controller, maker: facts.manufacturer(of: adapter))
            if wish == .host { route(adapter.path) }
        }
    }

    package func follow(_ wish: VoiceRoutingWish) {
        guard wish != self.wish else { return }
        self.wish = wish
        for (path, controller) in controllers.sorted(by: { $0.key < $1.key }) {
            if wish == .host { route(path) } else { problems.end(Self.problem(controller.name)) }
        }
    }

    /// A headset was heard through this adapter: what it sends reaches the host.
    package func packetCame(through path: String?) {
        if let path { controllers[path]?.isHeard = true }
    }

    /// Why a link through this adapter may be up without anything coming in, and what to do.
    package func advice(_ path: String?) -> String {
        guard let controller = path.flatMap({ controllers[$0] }) else {
            return "if this is so for every headset, the controller sends voice to its PCM pins instead of the host"
        }
        return SilentLinkAdvice.text(
            controller: controller.name, maker: controller.maker, isHeard: controller.isHeard, wish: wish,
            isRouted: controller.outcome == .routed)
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
            if again, wish == .host, controllers[path] != nil { route(path) }
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
                    // Nothing was configured that starts a program when the daemon started.
                    ? "restart btcalld: it gave up starting programs, and `scoRouting = host` needs one"
                    : "install btcall again, which has /usr/libexec/btcall-sco-routing")
            return
        }
        let line = Self.lastLine(report.output)
        if report.status == 0 {
            logger.notice("\(line ?? "\(name): voice goes to the host")")
            controllers[path]?.outcome = .routed
            problems.end(Self.problem(name))
            return
        }
        let what = report.wasKilled ? "it did not end within \(Self.helperLimit)" : line ?? "status \(report.status)"
        failed(
            path, "\(name): the voice routing is not set: \(Self.withoutName(what, name))",
            report.status == 3
                ? "`btcall config bluetooth.scoRouting leave`" : "tried again when the adapter is switched off and on")
    }

    private func failed(_ path: String, _ what: String, _ remedy: String) {
        // Gone or switched off meanwhile, or not wanted any more.
        guard let name = controllers[path]?.name, running[path] == false, wish == .host else { return }
        controllers[path]?.outcome = .failed
        problems.begin(Self.problem(name), what: what, remedy: remedy)
    }

    private static func lastLine(_ output: String) -> String? {
        output.split(whereSeparator: \.isNewline).last.map { String($0) }
    }

    private static func withoutName(_ line: String, _ name: String) -> String {
        line.hasPrefix("\(name): ") ? String(line.dropFirst(name.count + 2)) : line
    }
}
