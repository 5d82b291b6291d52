import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct DTMFCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dtmf", abstract: "Send tones to the far end of the active call.",
        discussion: "Example: btcall dtmf '1234#'")

    @Argument(help: "One or more of \(DTMFCommand.accepted).", transform: DTMFCommand.tones)
    var tones: String

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(), in: [[.active]],
            absent: "no call is active")
        try await bridge.calls.sendDTMF(chosen.id, tones: tones)
        if options.json {
            output.print(["call": .string(chosen.id.description), "tones": .string(tones)])
        } else {
            output.print("sent \(tones) to \(chosen.party)")
        }
    }

    private static let accepted = "0123456789ABCD*#"

    private static func tones(_ text: String) throws -> String {
        guard !text.isEmpty, text.allSatisfy({ accepted.contains($0) }) else {
            throw ValidationError("accepted: one or more of \(accepted)")
        }
        return text
    }
}
