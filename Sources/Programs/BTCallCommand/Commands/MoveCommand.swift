import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

struct SelectCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "select", abstract: "Move the present or the next call to a device, until the last call ends.",
        usage: "btcall select (<device> | --clear) [--bus <bus>] [--json] [-- COMMAND...]",
        discussion: """
            With a program after -- the selection ends with it, unless another choice has been made meanwhile.

            Examples:
              btcall select speakerphone
              btcall select --clear
            """
    )

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var device: DeviceArgument?

    @Flag(help: "Take the selection back.")
    var clear = false

    @OptionGroup var options: CommonOptions

    @Argument(parsing: .postTerminator, help: ArgumentHelp(HeldCommand.help, valueName: "command"))
    var command: [String] = []

    func validate() throws {
        guard (device != nil) != clear else {
            throw ValidationError("Give either DEVICE or --clear. DEVICE is one of \(DeviceArgument.accepted).")
        }
        if !command.isEmpty, clear || device?.fixed == DeviceChoice.none {
            throw ValidationError("A program can hold the selection of a DEVICE only.")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let manager = bridge.audioDeviceManager
        let device = try await device?.device(on: bridge)
        if let device, !command.isEmpty {
            let hold = try await manager.acquireSelection(device)
            return try await HeldCommand.run(command, holding: hold, output)
        }
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
