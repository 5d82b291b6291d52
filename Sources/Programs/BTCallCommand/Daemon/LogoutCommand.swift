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
            Pairings stay, unless --forget-headsets is given. `btcall activate` begins again.

            Example: btcall logout --forget-headsets
            """)

    @Flag(help: "Unpair every headset as well.")
    var forgetHeadsets = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.logout(forgettingHeadsets: forgetHeadsets)
        if options.json {
            output.print(["state": "inactive", "forgotHeadsets": .bool(forgetHeadsets)])
        } else {
            output.print(forgetHeadsets ? "logged out; no headset is paired any more" : "logged out; pairings are kept")
        }
    }
}
