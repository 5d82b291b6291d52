import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct AnswerCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer", abstract: "Answer the ringing call.",
        discussion: "Example: btcall answer")

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(), in: [[.ringing], [.waiting]], absent: "no call rings")
        try await bridge.calls.answer(chosen.id)
        if options.json {
            output.print(chosen.json(.active))
        } else {
            output.print("answered: \(chosen.party)")
        }
    }
}
