import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// What btcalld remembers of one headset.
struct HeadsetCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "headset", abstract: "Change what btcalld remembers of a headset.",
        discussion: "Example: btcall headset forget-codec Jabra",
        subcommands: [ForgetCodec.self])

    struct ForgetCodec: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "forget-codec", abstract: "Have all codecs tried again with a headset.",
            discussion: """
                `btcall devices` says why a better codec is not used. It acts when the headset's audio link is opened next.

                Example: btcall headset forget-codec 00:00:5E:00:53:01
                """)

        @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
        var headset: DeviceArgument

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let address = try await headset.headset(on: bridge).address
            try await bridge.forgetCodecs(of: address)
            if options.json {
                output.print(["forgotten": .string(address)])
            } else {
                output.print("\(address): all codecs are tried again when its audio is opened next")
            }
        }
    }
}
