import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct TrustCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust", abstract: "Allow or forbid a paired headset to connect on its own.",
        discussion: """
            `btcall headset pair` already trusts the headset that it pairs.

            Example: btcall headset trust 00:00:5E:00:53:01
            """)

    @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
    var headset: DeviceArgument

    @Flag(help: "Withdraw the trust.")
    var revoke = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let address = try await headset.headset(on: bridge).address
        try await bridge.pairing.trust(address, !revoke)
        if options.json {
            output.print(["address": .string(address), "trusted": JSON(!revoke)])
        } else {
            output.print("\(address) is \(revoke ? "not trusted any more" : "trusted")")
        }
    }
}
