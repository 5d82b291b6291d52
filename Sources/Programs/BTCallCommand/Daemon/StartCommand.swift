import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct StartCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "start", abstract: "Let btcalld decide which device carries the calls.",
        discussion: "Example: btcall start")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        try await bridge.audioDeviceManager.start()
        if options.json {
            output.print(["started": true])
        } else {
            output.print("started")
        }
    }
}
