import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct HangupCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "hangup", abstract: "End the call, or reject the ringing one.",
        discussion: "Example: btcall hangup")

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(),
            in: [[.active], [.dialing, .alerting], [.ringing, .waiting], [.held]], absent: "there is no call")
        try await bridge.calls.hangup(chosen.id)
        if options.json {
            output.print(chosen.json(.ended))
        } else {
            output.print("ended: \(chosen.party)")
        }
    }
}
