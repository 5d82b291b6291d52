import ArgumentParser
import BTCall
import BTCallJSON
import CommandKit
import ControlLoop
import JSONText

struct MoveCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "move", abstract: "Move the present or the next call to a device, until the last call ends.",
        usage: "btcall move [<device> | --clear] [--bus <bus>] [--json] [-- COMMAND...]",
        discussion: """
            Without DEVICE it shows the chosen one. With a program after -- the choice ends with the program, \
            unless another choice was made meanwhile.

            Examples:
              btcall move speakerphone
              btcall move --clear
            """
    )

    @Argument(help: DeviceArgument.help, completion: DeviceArgument.completion)
    var device: DeviceArgument?

    @Flag(help: "Withdraw the choice.")
    var clear = false

    @OptionGroup var options: CommonOptions

    @Argument(parsing: .postTerminator, help: ArgumentHelp(HeldCommand.help, valueName: "command"))
    var command: [String] = []

    func validate() throws {
        if device != nil, clear { throw ValidationError("Give either DEVICE or --clear.") }
        if !command.isEmpty, device == nil || device?.fixed == DeviceChoice.none {
            throw ValidationError("A program can only hold the choice of a DEVICE.")
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
        } else if device != nil || clear {
            try await manager.clearSelection()
        }
        if options.json { return output.print(["selected": try await manager.selectedAudioDevice().json]) }
        var chosen: String?
        if let device {
            chosen = device == .none ? nil : device.description
        } else if !clear {
            chosen = try await manager.explain().choice
        }
        output.print(chosen.map { "chosen: \($0)" } ?? "no device is chosen")
    }
}
