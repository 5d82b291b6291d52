import ArgumentParser
import BTCall
import ControlLoop

struct WhyCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Explain why the audio is where it is, level by level.")

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let explanation = try await bridge.audioDeviceManager.explain()
        if options.json {
            output.print(explanation.json)
        } else {
            explanation.text.forEach(output.print)
        }
    }
}
