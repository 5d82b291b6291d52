import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct SwapCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "swap", abstract: "Hold the active call and resume the held one.",
        discussion: "Example: btcall swap")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.calls.swap()
        let active = try await bridge.calls.list().filter { $0.state == .active }
        if options.json {
            output.print(["active": .array(active.map { .string($0.id.description) })])
        } else {
            output.print("active: \(active.map(\.party).joined(separator: ", "))")
        }
    }
}
