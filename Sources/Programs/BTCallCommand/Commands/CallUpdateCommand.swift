import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// `btcall call update`: reports progress of a call of `btcall call report`.
struct CallUpdateCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "update", abstract: "Report the progress of a call that `btcall call report` owns.",
        discussion: """
            For root, and for the user who runs `btcall call report`.

            Example: btcall call update ended --reason busy
            """)

    @Argument(
        help: "alerting, active, held or ended.",
        transform: { try CallUpdateCommand.word($0, ProviderMessage.states) })
    var state: Call.State

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @Option(
        help: ArgumentHelp(
            """
            Why it ended: \(Call.EndReason.allCases.map(\.rawValue).joined(separator: ", ")). By default the \
            other party hung up.
            """, valueName: "reason"),
        transform: { try CallUpdateCommand.word($0, CallUpdateCommand.reasons) })
    var reason: Call.EndReason?

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if reason != nil, state != .ended { throw ValidationError("--reason belongs to ended") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let calls = try await bridge.calls.list()
        let chosen = try CallArgument.choose(
            call, among: calls,
            in: [[.ringing, .waiting], [.dialing, .alerting], [.active], [.held]], absent: "there is no call")
        do {
            try await CallControl.update(chosen.id, state, reason)
        } catch is SystemError {
            throw CommandFailure(
                "\(chosen.party) is a call of \(chosen.provider), which is no `btcall call report` of this user's: "
                    + "its application updates it")
        }
        if options.json {
            output.print(chosen.json(state))
        } else {
            output.print("\(state.rawValue): \(chosen.party)")
        }
    }

    private static let reasons = Dictionary(
        uniqueKeysWithValues: Call.EndReason.allCases.map { ($0.rawValue, $0) })

    private static func word<Value>(_ text: String, _ words: [String: Value]) throws -> Value {
        guard let value = words[text] else {
            throw ValidationError("accepted: \(words.keys.sorted().joined(separator: ", "))")
        }
        return value
    }
}
