import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct HistoryCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "history", abstract: "List ended calls, latest first.",
        discussion: """
            btcalld keeps the latest hundred calls; over a restart only with `[calls] record`, and numbers and \
            names only with `recordNumbers`. The reason `filtered` means do not disturb.

            Example: btcall history --missed --max 10
            """)

    @Option(help: ArgumentHelp("Show at most this many.", valueName: "count"))
    var max: Int?

    @Flag(help: "Only missed calls.")
    var missed = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        guard max.map({ $0 > 0 }) ?? true else { throw ValidationError("--max accepts 1 or more") }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        var calls = try await bridge.calls.log(maximum: missed ? nil : max)
        if missed { calls = Array(calls.filter(\.isMissed).prefix(max ?? calls.count)) }
        if options.json {
            output.print(.array(calls.map(\.json)))
        } else if calls.isEmpty {
            output.print("no calls")
        } else {
            output.print(Self.table(calls))
        }
    }

    static func table(_ calls: [LoggedCall]) -> Table {
        var table = Table("BEGAN", "DIRECTION", "PARTY", "TIME", "END", "DEVICE", "PROVIDER")
        for call in calls {
            table.add(
                WallClock(milliseconds: call.beganMs).iso8601, call.isMissed ? "missed" : call.direction.rawValue,
                Call.party(name: call.name, number: call.number),
                call.answeredMs == nil ? "-" : CallsCommand.duration(from: 0, to: call.durationMs), call.reason,
                call.device ?? "-", call.provider)
            if call.isMissed { table.emphasize(.warning, inColumn: "DIRECTION") }
        }
        return table
    }
}
