import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop

struct WhyCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "why", abstract: "Explain why the audio is where it is, or was, level by level.",
        discussion: """
            TIME is \(TimeArgument.accepted).

            Examples:
              btcall why
              btcall why --at -90     # a minute and a half ago
            """)

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Explain the route at that time, as far back as btcalld's record goes.", valueName: "time"),
        transform: WhyCommand.time)
    var at: TimeArgument?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        let explanation =
            if let at { try await manager.explain(at: at.time.milliseconds) } else { try await manager.explain() }
        if options.json {
            output.print(explanation.json)
        } else {
            explanation.text.forEach(output.print)
        }
    }

    private static func time(_ text: String) throws -> TimeArgument {
        guard let time = TimeArgument(text) else { throw ValidationError("accepted: \(TimeArgument.accepted)") }
        return time
    }
}
