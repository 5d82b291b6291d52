import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct ActivateCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "activate", abstract: "Register the Bluetooth profiles and accept telephony applications.",
        discussion: """
            btcalld activates itself unless [daemon] autostart = no. Returns when the state is active.

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
        commandName: "deactivate", abstract: "End all calls and unregister the profiles; btcalld keeps running.",
        discussion: """
            Returns when the state is inactive. The box's identity stays, unlike with `btcall daemon logout`.

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
