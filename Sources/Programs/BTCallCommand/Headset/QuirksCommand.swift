import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

/// `btcall headset quirks`: special treatment of headsets and controllers.
struct QuirksCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "quirks", abstract: "Show special treatment of headsets and controllers.",
        discussion: """
            Without HEADSET it shows the files, and every row in the order of application. With HEADSET it \
            explains the headset's treatment; the headset need not be connected. Your own rows go into \
            /etc/btcall/quirks.conf; `btcalld --check` checks such a file.

            Examples:
              btcall headset quirks
              btcall headset quirks Jabra
            """)

    @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
    var headset: DeviceArgument?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        if let headset {
            let explanation = try await bridge.explainQuirks(of: try await headset.headset(on: bridge).address)
            if options.json { output.print(explanation.json) } else { explanation.lines.forEach(output.print) }
        } else {
            let database = try await bridge.quirks()
            if options.json { output.print(database.json) } else { database.lines.forEach(output.print) }
        }
    }
}
