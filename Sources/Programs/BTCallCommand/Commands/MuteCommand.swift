import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct MuteCommand: BridgeCommand {
    enum Switch: String, ExpressibleByArgument, CaseIterable, Sendable {
        case on, off
    }

    static let configuration = CommandConfiguration(
        commandName: "mute", abstract: "Mute the microphone for all calls, until it is unmuted or the last call ends.",
        discussion: "Example: btcall mute on")

    @Argument(help: "on or off.")
    var state: Switch

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.calls.setMuted(state == .on)
        if options.json {
            output.print(["muted": JSON(state == .on)])
        } else {
            output.print(state == .on ? "microphone muted" : "microphone on")
        }
    }
}
