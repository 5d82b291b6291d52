import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc

/// `btcall call report`: owns a script's call while this command runs.
struct CallReportCommand: BridgeCommand {
    enum Direction: String, ExpressibleByArgument, CaseIterable, Sendable {
        case incoming, outgoing
    }

    static let configuration = CommandConfiguration(
        commandName: "report", abstract: "Report a call made elsewhere, and own it until it ends.",
        discussion: """
            It runs as long as the call: start it with & from a script, and report progress with `btcall call \
            update`. Requests from headsets and btcall are printed and accepted; a script that decides itself \
            uses `btcall provider`. Ctrl-C, or the end of this command, hangs up for the other party.

            The exit code is 0 when the call has ended, and 1 when btcalld has ended.

            Example: btcall call report incoming 5550100 --name Door &
            """)

    @Argument(help: "incoming: headsets ring; or outgoing.")
    var direction: Direction

    @OptionGroup var party: ReportedPartyArguments

    @Option(help: ArgumentHelp("The name of the call's application, for people.", valueName: "name"))
    var provider = "script"

    @Flag(help: "The other side of an outgoing call already rings.")
    var alerting = false

    @OptionGroup var raw: RawAudioArguments

    @OptionGroup var options: CommonOptions

    func validate() throws {
        guard direction == .outgoing else {
            if alerting { throw ValidationError("--alerting is for outgoing calls") }
            return
        }
        if party.number.isEmpty { throw ValidationError("NUMBER is empty: an outgoing call has one") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let call = ReportedCall(output, isJSON: options.json)
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { call.interrupt() }
        }
        defer { for signal in signals { signal.cancel() } }
        let description = CallProviderDescription(name: provider, rate: raw.rate, capabilities: [.hold, .dtmf])
        let (number, name) = (party.number, party.name)
        let kinds = party.routes.isEmpty ? nil : Set(party.routes)
        try await call.run(description, try raw.audio(), on: bridge) { calls in
            switch direction {
            case .incoming: try await calls.reportIncoming(number: number, name: name, routes: kinds)
            case .outgoing:
                try await calls.reportOutgoing(
                    number: number, name: name, alerting ? .alerting : .dialing, routes: kinds)
            }
        }
    }
}
