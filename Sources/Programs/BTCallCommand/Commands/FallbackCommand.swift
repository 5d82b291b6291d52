import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct DefaultCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "default", abstract: "Set the device to fall back to when the preferred one is not available.",
        discussion: """
            It is kept over restarts; none leaves it to the platform's order.

            Example: btcall default earpiece
            """)

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var device: DeviceArgument

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let device = try await device.device(on: bridge)
        try await bridge.audioDeviceManager.setDefaultAudio(device)
        if options.json {
            output.print(["default": .string(device.description)])
        } else {
            output.print(device == .none ? "no default device" : "default: \(device)")
        }
    }
}
