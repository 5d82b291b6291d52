import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

/// What single headsets and controllers need to be treated differently.
struct QuirksCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quirks", abstract: "What single headsets and controllers need to be treated differently.",
        discussion: """
            Rows of your own go into /etc/btcall/quirks.conf; `btcalld --check` reads such a file.

            Example: btcall quirks explain 00:00:5E:00:53:01
            """,
        subcommands: [List.self, Explain.self], defaultSubcommand: List.self)

    struct List: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "The files that were read, and every row in the order in which they apply.",
            discussion: "Example: btcall quirks list")

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let database = try await bridge.quirks()
            if options.json {
                output.print(database.json)
            } else {
                database.lines.forEach(output.print)
            }
        }
    }

    struct Explain: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "explain", abstract: "What is done for one headset, and why; it need not be connected.",
            discussion: "Example: btcall quirks explain 00:00:5E:00:53:01")

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let explanation = try await bridge.explainQuirks(of: try await headset.headset(on: bridge).address)
            if options.json {
                output.print(explanation.json)
            } else {
                explanation.lines.forEach(output.print)
            }
        }
    }
}
