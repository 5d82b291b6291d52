import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct ForgetCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Unpair a headset and remove its bond.",
        discussion: """
            It is disconnected, and can only return after pairing again; also make the headset forget this box.

            Example: btcall headset forget 00:00:5E:00:53:01
            """)

    @Argument(help: HeadsetArgument.help, completion: HeadsetArgument.completion)
    var headset: DeviceArgument

    @OptionGroup var confirmation: ConfirmationOptions

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let (address, device) = try await headset.headset(on: bridge)
        try await confirmation.confirm(output) {
            "this unpairs \(device.map { "\($0.name) (\(address))" } ?? address), which has to be paired again to come back"
        }
        try await bridge.pairing.forget(address)
        if options.json {
            output.print(["address": .string(address), "paired": false])
        } else {
            output.print("\(address) is forgotten")
        }
    }
}
