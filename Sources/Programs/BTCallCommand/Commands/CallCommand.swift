import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

/// `btcall call`: one call.
struct CallCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "call", abstract: "Show one call and its audio quality, or report a script's own call.",
        discussion: """
            Examples:
              btcall call
              btcall call report incoming 5550100 --name Door
            """,
        subcommands: [Show.self, CallReportCommand.self, CallUpdateCommand.self], defaultSubcommand: Show.self)

    struct Show: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "show", abstract: "Show a call, its route and link, and the quality of its audio.",
            discussion: """
                Without CALL: the active call, else the held one, else any other. The quality is a number from 0 \
                to 100; `org.btcall.Call1` has the formula.

                Example: btcall call show 1
                """)

        @Argument(help: CallArgument.help, completion: CallArgument.completion)
        var call: String?

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let status = try await bridge.status()
            let chosen = try CallArgument.choose(
                call, among: status.calls,
                in: [[.active], [.held], [.dialing, .alerting, .ringing, .waiting]], absent: "there is no call")
            if options.json {
                output.print(chosen.details(status))
            } else {
                Self.lines(chosen, status, now: .now).forEach(output.print)
            }
        }

        static func lines(_ call: Call, _ status: BridgeStatus, now: WallClock) -> [String] {
            var facts = Facts()
            facts.add("Call", "\(call.index), \(call.direction.rawValue), \(call.state.rawValue): \(call.party)")
            facts.add("Id", call.id.description)
            facts.add("Provider", call.provider)
            facts.add("Time", CallsCommand.duration(of: call, at: now) ?? "-")
            facts.add("Route", StatusCommand.route(status))
            if call.routes.count < Call.Route.allCases.count {
                facts.add("Only on", call.routes.map(\.rawValue).joined(separator: ", "))
            }
            facts.add("Link", call.link?.text ?? "none")
            if let problem = call.audioProblem { facts.add("Audio", "none: \(problem)") }
            if !call.ssrcs.isEmpty {
                facts.add("SSRCs", call.ssrcs.map { String($0) }.joined(separator: ", "))
            }
            if call.isRecorded { facts.add("Recording", "a program records it") }
            facts.add("Quality", call.quality?.score.map { String($0) } ?? "not known")
            guard let quality = call.quality, let total = call.totalQuality else { return facts.lines }
            var table = Table("QUALITY", "LAST \(quality.seconds)", "WHOLE \(total.seconds)")
            for (row, other) in zip(quality.rows, total.rows) { table.add(row.name, row.value, other.value) }
            return facts.lines + [""] + table.lines
        }
    }
}

extension CallLink {
    /// For people, for example `bluetooth:AA:BB:CC:DD:EE:FF, mSBC, packets of 60 bytes, handle 42`.
    var text: String {
        let parts = [
            device.description, codec, packetBytes.map { "packets of \($0) bytes" }, handle.map { "handle \($0)" },
        ]
        return parts.compactMap { $0 }.joined(separator: ", ")
    }
}

extension CallQuality {
    var seconds: String { "\(durationMs / 1000) s" }

    var rows: [(name: String, value: String)] {
        [
            ("score", score.map { String($0) } ?? "-"),
            ("lost", "\(lost) of \(packets + lost) packets"),
            ("concealed", "\(concealedMs) ms"),
            ("dropped here", "\(droppedMs) ms"),
            ("gaps", String(gaps)),
            ("jitter", "\(jitterMs) ms"),
            ("drift", "\(driftPPM.whole) ppm"),
            ("retries", String(retries)),
            ("xruns", String(xruns)),
        ]
    }
}
