import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

struct StatusCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the audio is, the calls, and what is wrong.",
        discussion: """
            With --watch it follows what happens, until q or Ctrl-C. On a terminal it is a full-screen view: the route and \
            why, problems and what to do, the calls with what their audio lost, levels, devices; m mutes. Elsewhere the \
            status is printed again at each change, after an empty line; with --json an object in each line, with the \
            state absent while btcalld is not there.

            Examples:
              btcall status
              btcall status --watch
              btcall status --json
            """)

    @Flag(help: "Go on showing it as it changes.")
    var watch = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if watch {
            let screen = options.json ? nil : TerminalScreen(write: output.write)
            return try await StatusWatch(bridge: bridge, output: output, isJSON: options.json).run(on: screen)
        }
        let status = try await bridge.status()
        if options.json {
            output.print(status.json)
        } else {
            Self.lines(status, in: output.style).forEach(output.print)
        }
    }

    static func lines(_ status: BridgeStatus, in style: TerminalStyle = .plain) -> [StyledText] {
        var facts = Facts()
        facts.add("Route", route(status), status.route == .none ? nil : .good)
        if status.pending != .none { facts.add("Pending", status.pending.description) }
        if !status.interruptions.isEmpty {
            facts.add("Interrupted", "by \(status.interruptions.joined(separator: ", "))", .warning)
        }
        facts.add("Preferred", status.preferred.description)
        facts.add("Default", status.defaultDevice.description)
        facts.add("Selected", status.selected.description)
        facts.add("Manager", manager(status), status.isStarted ? nil : .warning)
        facts.add("Microphone", status.isMuted ? "muted" : "on", status.isMuted ? .warning : nil)
        facts.add("Calls", status.calls.isEmpty ? "none" : String(status.calls.count))
        var lines = facts.lines(in: style)
        lines += status.calls.map { call in
            "  \(call.direction.rawValue), \(call.state.rawValue): \(call.party), by \(call.provider)"
        }
        if !status.problems.isEmpty { lines.append(style.bold("Problems")) }
        lines += status.problems.map { "  \(style.yellow($0.text))" }
        return lines
    }

    static func route(_ status: BridgeStatus) -> String {
        var text = status.route.description
        let link = [status.mode.map { $0 == "hfp" ? "HFP" : $0.uppercased() }, status.codec].compactMap { $0 }
        if !link.isEmpty { text += " by \(link.joined(separator: ", "))" }
        if let reason = status.reason { text += " (\(reason))" }
        return text
    }

    private static func manager(_ status: BridgeStatus) -> String {
        let policy = status.isStarted ? "started" : "stopped: the system's own device is used"
        return status.state == .active ? policy : "\(policy); profiles \(status.state.rawValue)"
    }
}
