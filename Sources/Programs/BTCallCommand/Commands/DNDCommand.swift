import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct DNDCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dnd", abstract: "Do not disturb: incoming calls are refused, and nothing rings.",
        discussion: """
            It is kept over restarts, and is the setting calls.doNotDisturb. `btcall history` has the calls that were \
            refused. Without on or off it says which of the two it is.

            Example: btcall dnd on
            """)

    @Argument(help: "on or off.")
    var state: Switch?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if let state { try await bridge.calls.setDoNotDisturb(state == .on) }
        let isOn = try await bridge.calls.isDoNotDisturb()
        if options.json {
            output.print(["doNotDisturb": JSON(isOn)])
        } else {
            output.print(isOn ? "incoming calls are refused" : "incoming calls ring")
        }
    }
}
