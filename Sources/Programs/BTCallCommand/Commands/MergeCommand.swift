import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct MergeCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "merge", abstract: "Join the active and the held call into one conversation.",
        discussion: "Example: btcall merge")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.calls.conference()
        let active = try await bridge.calls.list().filter { $0.state == .active }
        if options.json {
            output.print(["active": .array(active.map { .string($0.id.description) })])
        } else {
            output.print("active: \(active.map(\.party).joined(separator: ", "))")
        }
    }
}
