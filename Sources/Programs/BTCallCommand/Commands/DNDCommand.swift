import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct DNDCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "dnd", abstract: "Set do not disturb: incoming calls are refused without ringing.",
        discussion: """
            The setting calls.doNotDisturb, kept over restarts. `btcall history` lists the refused calls. \
            Without on or off it shows the present state.

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
