import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct FallbackCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "fallback", abstract: "Set the device to fall back to when the preferred one is not available.",
        discussion: """
            Kept over restarts; none leaves the choice to the platform's order. Without DEVICE the present one \
            is shown.

            Example: btcall fallback earpiece
            """)

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var device: DeviceArgument?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        if let device { try await manager.setDefaultAudio(try await device.device(on: bridge)) }
        let fallback = try await manager.defaultAudioDevice()
        if options.json {
            output.print(["fallback": fallback.json])
        } else {
            output.print(fallback == .none ? "no fallback device" : "fallback: \(fallback)")
        }
    }
}
