import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct LogoutCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "logout",
        abstract: "End all calls, take the Bluetooth profiles back, and drop account, user, name and number.",
        discussion: """
            Pairings stay, unless --forget-headsets is given. `btcall daemon activate` begins again.

            Example: btcall daemon logout --forget-headsets
            """)

    @Flag(help: "Unpair every headset as well.")
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
            output.print(forgetHeadsets ? "logged out; no headset is paired any more" : "logged out; pairings are kept")
        }
    }
}
