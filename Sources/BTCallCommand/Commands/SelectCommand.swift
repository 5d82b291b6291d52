import ArgumentParser
import BTCall
import ControlLoop

struct SelectCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "select", abstract: "Move the present or the next call to a device, until the last call ends.")

    @Argument(help: DeviceArgument.help, transform: DeviceArgument.read)
    var device: DeviceChoice?

    @Flag(help: "Take the selection back.")
    var clear = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        guard (device != nil) != clear else {
            throw ValidationError("Give either DEVICE or --clear. DEVICE is one of \(DeviceArgument.accepted).")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        if let device, device != .none {
            try await manager.select(device)
        } else {
            try await manager.clearSelection()
        }
        let selected = try await manager.selectedAudioDevice()
        if options.json {
            output.print(["selected": .string(selected.description)])
        } else {
            output.print("selected: \(selected)")
        }
    }
}
