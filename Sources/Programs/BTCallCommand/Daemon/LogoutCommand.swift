import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct LogoutCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "End all calls, unregister the Bluetooth profiles, and remove account, user, name and number.",
        discussion: """
            Pairings stay, unless --forget-headsets is given. `btcall daemon activate` activates it again.

            Example: btcall daemon logout --forget-headsets
            """)

    @Flag(help: "Also unpair every headset.")
    var forgetHeadsets = false

    @OptionGroup var confirmation: ConfirmationOptions

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await confirmation.confirm(output) {
            let calls = try await bridge.calls.list()
            let ends = calls.isEmpty ? "" : ", ends \(Call.count(calls))"
            return
                "this drops account, user, name and number\(ends)\(forgetHeadsets ? ", and unpairs every headset" : "")"
        }
        try await bridge.logout(forgettingHeadsets: forgetHeadsets)
        if options.json {
            output.print(["state": "inactive", "forgotHeadsets": .bool(forgetHeadsets)])
        } else {
            output.print(forgetHeadsets ? "logged out; all headsets are unpaired" : "logged out; headsets stay paired")
        }
    }
}
