import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import Routing

struct StatusCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "status", abstract: "Show where the audio is, the calls, and what is wrong.",
        discussion: """
            With --watch it follows events, until q or Ctrl-C. On a terminal it is a full-screen view: the route \
            and its reason, problems and remedies, the calls with their losses, levels, devices; m mutes. \
            Elsewhere it prints the status again after each change, following an empty line; with --json one \
            object in each line, with the state absent while btcalld is not running.

            Examples:
              btcall status
              btcall status --watch
              btcall status --json
            """)

    @Flag(help: "Keep showing the status as it changes.")
    var watch = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if watch {
            let screen = options.json ? nil : TerminalScreen(write: output.write)
            return try await StatusWatch(bridge: bridge, output: output, isJSON: options.json).run(on: screen)
        }
        let status = try await bridge.status()
        if options.json { return output.print(status.json) }
        let explanation = try await bridge.audioDeviceManager.explain()
        Self.lines(status, explanation, in: output.style).forEach(output.print)
    }

    /// - Parameter explanation: gives the device for the next call; nil leaves that out.
    static func lines(
        _ status: BridgeStatus, _ explanation: RouteExplanation?, in style: TerminalStyle = .plain
    ) -> [StyledText] {
        var facts = Facts()
        if status.route != .none || !status.calls.isEmpty {
            facts.add("Route", route(status), status.route == .none ? .warning : .good)
        }
        if status.route == .none, let explanation, status.isStarted {
            facts.add("Would use", expected(explanation, status))
        }
        if status.pending != .none { facts.add("Opening", name(status.pending, status)) }
        if !status.interruptions.isEmpty {
            facts.add("Interrupted", "by \(status.interruptions.joined(separator: ", "))", .warning)
        }
        if !status.isStarted { facts.add("Routing", "off: calls use the system's own device", .warning) }
        if status.state != .active { facts.add("Profiles", status.state.rawValue, .warning) }
        facts.add("Microphone", microphone(status), status.isMuted || !status.isMicrophoneEnabled ? .warning : nil)
        facts.add("Calls", status.calls.isEmpty ? "none" : String(status.calls.count))
        var lines = facts.lines(in: style)
        lines += status.calls.map { call in
            "  \(call.direction.rawValue), \(call.state.rawValue): \(call.party), by \(call.provider)"
        }
        if !status.problems.isEmpty { lines.append(style.bold("Problems")) }
        lines += status.problems.map { "  \(style.yellow($0.text))" }
        lines.append(style.bold("Settings"))
        return lines + settings(status, explanation).lines(in: style).map { "  \($0)" }
    }

    /// The settings, in the words of the verbs that set them.
    private static func settings(_ status: BridgeStatus, _ explanation: RouteExplanation?) -> Facts {
        var facts = Facts()
        facts.add("Preferred", setting(status.preferred, status))
        facts.add("Fallback", setting(status.defaultDevice, status))
        if let explanation {
            let choice = explanation.choice.map { text in DeviceChoice(text).map { name($0, status) } ?? text }
            facts.add("Chosen", choice ?? "–")
        }
        return facts
    }

    private static func setting(_ choice: DeviceChoice, _ status: BridgeStatus) -> String {
        guard choice != .none else { return "–" }
        let device = status.devices.first { $0.choice == choice }
        if choice == .bluetooth || device.map({ $0.unavailableBecause != notConfigured }) == true {
            return name(choice, status)
        }
        return device == nil ? "\(choice), which is not available" : "\(choice), which is not configured"
    }

    /// btcalld's reason for a local device that its configuration does not name.
    private static let notConfigured = "not configured"

    /// For example `earpiece (fallback)`.
    private static func expected(_ explanation: RouteExplanation, _ status: BridgeStatus) -> String {
        let level = explanation.levels.first { $0.isEligible && $0.candidate != nil }
        guard let level, let device = level.candidate.flatMap({ DeviceChoice($0) }) else {
            return "nothing: no device can be used, see `btcall devices`"
        }
        // The device's own brackets are left out: one pair is enough.
        let headset = status.devices.first { $0.choice == device && $0.address != nil }
        return "\(headset.map { "\($0.name), " } ?? "")\(device) (\(word(level.name)))"
    }

    /// A level of the policy in the words of the verbs.
    private static func word(_ level: String) -> String {
        switch RoutingLevel.allCases.first(where: { $0.name == level }) {
        case .explicitChoice: "chosen"
        case .default: "fallback"
        case .platformOrder: "the order of devices"
        case .jackAfterChoice, .latchedJack, .preferred, .jackInCall, nil: level
        }
    }

    private static func microphone(_ status: BridgeStatus) -> String {
        if !status.isMicrophoneEnabled { return "off for all calls: `btcall mic on`" }
        return status.isMuted ? "muted: `btcall mute off`" : "on"
    }

    /// For example `Jabra (bluetooth:00:00:5E:00:53:01)`; for a local device its word alone.
    private static func name(_ choice: DeviceChoice, _ status: BridgeStatus) -> String {
        guard let device = status.devices.first(where: { $0.choice == choice }), device.address != nil else {
            return choice.description
        }
        return "\(device.name) (\(choice))"
    }

    static func route(_ status: BridgeStatus) -> String {
        var text = name(status.route, status)
        let link = [status.mode.map { $0 == "hfp" ? "HFP" : $0.uppercased() }, status.codec].compactMap { $0 }
        if !link.isEmpty { text += " by \(link.joined(separator: ", "))" }
        if let reason = status.reason { text += " (\(reason))" }
        return text
    }
}

extension RouteExplanation {
    /// The explicit choice for the present calls, or for the next one; nil for none.
    var choice: String? { levels.first { $0.name == RoutingLevel.explicitChoice.name }?.spec }
}
