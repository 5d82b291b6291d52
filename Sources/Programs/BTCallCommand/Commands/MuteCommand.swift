import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct MuteCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "mute", abstract: "Mute the microphone for all calls, until it is unmuted or the last call ends.",
        discussion: """
            Without on or off it shows the present state. `btcall mic off` applies to all calls, including \
            future ones.

            Example: btcall mute on
            """)

    @Argument(help: "on or off.")
    var state: Switch?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if let state { try await bridge.calls.setMuted(state == .on) }
        let isMuted = try await bridge.calls.isMuted()
        if options.json {
            output.print(["muted": JSON(isMuted)])
        } else {
            output.print(isMuted ? "muted" : "not muted")
        }
    }
}
