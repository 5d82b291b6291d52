import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct HangupCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "hangup", abstract: "End the call, or reject the ringing one.",
        discussion: """
            --all ends the calls of every application, and returns when they have ended.

            Example: btcall hangup
            """)

    @Argument(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @Flag(help: "End or reject every call.")
    var all = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if all, call != nil { throw ValidationError("--all names every call: leave CALL out") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        guard !all else { return try await endAll(on: bridge, output) }
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

    private func endAll(on bridge: CallBridge, _ output: Output) async throws {
        let present = try await bridge.calls.list()
        try await bridge.calls.removeAllCalls()
        if options.json {
            output.print(.array(present.map { $0.json(.ended) }))
        } else if present.isEmpty {
            output.print("no calls")
        } else {
            for call in present { output.print("ended: \(call.party)") }
        }
    }
}
