import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct StopCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "stop", abstract: "Leave the audio to the system's own device; calls go on.",
        discussion: "Example: btcall stop")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.audioDeviceManager.stop()
        if options.json {
            output.print(["started": false])
        } else {
            output.print("stopped: calls use the system's own device")
        }
    }
}
