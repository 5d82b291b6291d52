import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// `btcall daemon`: verbs about btcalld itself.
struct DaemonCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "daemon", abstract: "Show and control btcalld: state, metrics and routing record.",
        discussion: """
            systemctl starts and stops the program btcalld; these verbs change the running one.

            Examples:
              btcall daemon
              btcall daemon routing off
              btcall daemon incident >incident.json
            """,
        subcommands: [
            Show.self, Routing.self, ActivateCommand.self, DeactivateCommand.self, LogoutCommand.self,
            MetricsCommand.self, IncidentCommand.self,
        ], defaultSubcommand: Show.self)

    struct Show: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show the version and state of btcalld.",
            discussion: "Example: btcall daemon show")

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let status = try await bridge.status()
            if options.json {
                output.print([
                    "version": .string(status.version), "state": .string(status.state.rawValue),
                    "started": JSON(status.isStarted),
                ])
            } else {
                var facts = Facts()
                facts.add("Version", status.version)
                facts.add("State", status.state.rawValue, status.state == .active ? nil : .warning)
                facts.add("Routing", status.isStarted ? "on" : "off", status.isStarted ? nil : .warning)
                output.print(facts)
            }
        }
    }

    struct Routing: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "routing", abstract: "Show and set whether btcalld decides which device carries the calls.",
            discussion: """
                on: btcalld decides. off: the audio is left to the system's own device; calls continue. On a \
                terminal off asks first while there is a call. Without on or off it shows the present state.

                Example: btcall daemon routing on
                """)

        @Argument(help: "on or off.")
        var state: Switch?

        @OptionGroup var confirmation: ConfirmationOptions

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let manager = bridge.audioDeviceManager
            switch state {
            case .on: try await manager.start()
            case .off:
                try await confirmation.confirm(output) {
                    let calls = try await bridge.calls.list()
                    return calls.isEmpty
                        ? nil : "\(Call.count(calls)) would move from btcalld's devices to the system's own"
                }
                try await manager.stop()
            case nil: break
            }
            let isStarted = try await bridge.status().isStarted
            if options.json {
                output.print(["started": JSON(isStarted)])
            } else {
                output.print(isStarted ? "started" : "stopped: calls use the system's own device")
            }
        }
    }
}

extension Call {
    /// For a question, for example `the call with Alice` or `2 calls`.
    static func count(_ calls: [Call]) -> String {
        calls.count == 1 ? "the call with \(calls[0].party)" : "\(calls.count) calls"
    }
}
