import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct CallsCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "calls", abstract: "List the calls.",
        discussion: "Example: btcall calls")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let calls = try await bridge.calls.list()
        if options.json {
            output.print(.array(calls.map(\.json)))
        } else if calls.isEmpty {
            output.print("no calls")
        } else {
            output.print(Self.table(calls, now: .now))
        }
    }

    static func table(_ calls: [Call], now: WallClock) -> Table {
        var table = Table("CALL", "STATE", "DIRECTION", "PARTY", "PROVIDER", "TIME", "STATUS", "ID")
        for call in calls {
            table.add(
                String(call.index), call.state.rawValue, call.direction.rawValue, call.party, call.provider,
                duration(of: call, at: now) ?? "-", call.status.rawValue, call.id.description)
            table.emphasize(
                call.state == .ringing ? .warning : call.state == .active ? .good : .strong, inColumn: "STATE")
            table.emphasize(.aside, inColumn: "ID")
        }
        return table
    }

    /// Time since the call became active, for example `3:07`; nil before.
    static func duration(of call: Call, at now: WallClock) -> String? {
        call.startedAtMs.map { duration(from: $0, to: now.milliseconds) }
    }

    static func duration(from start: Int64, to end: Int64) -> String {
        let seconds = max(0, end - start) / 1000
        return "\(seconds / 60):" + (seconds % 60 < 10 ? "0" : "") + String(seconds % 60)
    }
}
