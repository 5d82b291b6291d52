import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct HoldCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "hold", abstract: "Put the active call on hold.",
        discussion: """
            Its application must support that. `btcall resume` resumes the call.

            Example: btcall hold
            """)

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(), in: [[.active]], absent: "no call is active")
        try await bridge.calls.setHeld(chosen.id, true)
        if options.json {
            output.print(chosen.json(.held))
        } else {
            output.print("held: \(chosen.party)")
        }
    }
}
