import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct PreferCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "prefer", abstract: "Set the preferred device, used whenever it is available.",
        discussion: """
            Kept over restarts; none removes the preference. Without DEVICE the present one is shown.

            Examples:
              btcall prefer Jabra
              btcall prefer bluetooth
              btcall prefer bluetooth:00:00:5E:00:53:01
            """)

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var device: DeviceArgument?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        if let device { try await manager.setAudioDevice(try await device.device(on: bridge)) }
        let preferred = try await manager.preferredAudioDevice()
        if options.json {
            output.print(["preferred": preferred.json])
        } else {
            output.print(preferred == .none ? "no preferred device" : "preferred: \(preferred)")
        }
    }
}
