import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct ResumeCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resume the call on hold.",
        discussion: "Example: btcall resume 2")

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(), in: [[.held]], absent: "no call is held")
        try await bridge.calls.setHeld(chosen.id, false)
        if options.json {
            output.print(chosen.json(.active))
        } else {
            output.print("resumed: \(chosen.party)")
        }
    }
}
