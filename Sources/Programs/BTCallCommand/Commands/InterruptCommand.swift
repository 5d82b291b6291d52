import ArgumentParser
import BTCall
import CommandKit
import ControlLoop

struct InterruptCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "interrupt", abstract: "Take the audio away from the calls while a program runs.",
        usage: "btcall interrupt <source> [--no-resume] [--bus <bus>] -- COMMAND...",
        discussion: "Example: btcall interrupt page -- aplay announcement.wav")

    @Argument(help: "A word for people that names the interruption: page, alarm.")
    var source: String

    @Flag(
        help:
            "Do not give the audio back afterwards: calls stay silent until another interruption ends, or they end.")
    var noResume = false

    @OptionGroup var options: CommonOptions

    @Argument(parsing: .postTerminator, help: ArgumentHelp(HeldCommand.help, valueName: "command"))
    var command: [String] = []

    func validate() throws {
        if command.isEmpty {
            throw ValidationError("Give the program to run after --: btcall interrupt page -- COMMAND")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let hold = try await bridge.audioDeviceManager.interrupt(source: source, resuming: !noResume)
        try await HeldCommand.run(command, holding: hold, output)
    }
}
