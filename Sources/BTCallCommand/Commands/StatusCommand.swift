import ArgumentParser
import BTCall
import ControlLoop

struct StatusCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the audio is, the calls, and what is wrong.")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let status = try await bridge.status()
        if options.json {
            output.print(status.json)
        } else {
            Self.lines(status).forEach(output.print)
        }
    }

    static func lines(_ status: BridgeStatus) -> [String] {
        var facts = Facts()
        facts.add("Route", route(status))
        if status.pending != .none { facts.add("Pending", status.pending.description) }
        if !status.interruptions.isEmpty {
            facts.add("Interrupted", "by \(status.interruptions.joined(separator: ", "))")
        }
        facts.add("Preferred", status.preferred.description)
        facts.add("Default", status.defaultDevice.description)
        facts.add("Selected", status.selected.description)
        facts.add("Manager", manager(status))
        facts.add("Microphone", status.isMuted ? "muted" : "on")
        facts.add("Calls", status.calls.isEmpty ? "none" : String(status.calls.count))
        var lines = facts.lines
        lines += status.calls.map { "  \($0.direction.rawValue), \($0.state.rawValue): \($0.party), by \($0.provider)" }
        if !status.problems.isEmpty { lines.append("Problems") }
        lines += status.problems.map { "  \($0.text)" }
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
