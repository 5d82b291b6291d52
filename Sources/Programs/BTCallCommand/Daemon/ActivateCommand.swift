import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct ActivateCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Register the Bluetooth profiles and accept telephony applications.",
        discussion: """
            btcalld does it by itself unless [daemon] autostart = no. Done when the state is active.

            Example: btcall daemon activate
            """)

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.activate()
        if options.json { output.print(["state": "active"]) } else { output.print("active") }
    }
}

struct DeactivateCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "deactivate", abstract: "End all calls and take the Bluetooth profiles back; btcalld stays.",
        discussion: """
            Done when the state is inactive. Who the box is stays, other than with `btcall daemon logout`.

            Example: btcall daemon deactivate
            """)

    @OptionGroup var confirmation: ConfirmationOptions

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await confirmation.confirm(output) {
            let calls = try await bridge.calls.list()
            return calls.isEmpty ? nil : "this ends \(Call.count(calls))"
        }
        try await bridge.deactivate()
        if options.json { output.print(["state": "inactive"]) } else { output.print("inactive") }
    }
}
