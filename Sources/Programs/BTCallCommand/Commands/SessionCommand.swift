import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// The session of external call control.
struct SessionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session", abstract: "The session of external call control, which gives calls their audio.",
        discussion: """
            Calls depend on it with the setting manualAudio: `btcall config manualAudio true`.

            Example: btcall session activate -- aplay hello.wav
            """,
        subcommands: [Status.self, Activate.self], defaultSubcommand: Status.self)

    struct Status: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show whether the session is active, and whether calls depend on it.",
            discussion: "Example: btcall session status")

        @OptionGroup var options: CommonOptions

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            let isActive = try await bridge.session.isActive()
            let isManual = try await bridge.session.isManual()
            if options.json {
                output.print(["sessionActive": JSON(isActive), "manual": JSON(isManual)])
            } else if isManual {
                output.print(isActive ? "active: calls have audio" : "not active: calls have no audio")
            } else {
                output.print("\(isActive ? "active" : "not active"); calls have audio without it (manualAudio is off)")
            }
        }
    }

    struct Activate: BridgeCommand {
        static let configuration = CommandConfiguration(
            commandName: "activate", abstract: "Hold the session while a program runs.",
            usage: "btcall session activate [--bus <bus>] -- COMMAND...",
            discussion: "Example: btcall session activate -- aplay hello.wav")

        @OptionGroup var options: CommonOptions

        @Argument(parsing: .postTerminator, help: ArgumentHelp(HeldCommand.help, valueName: "command"))
        var command: [String] = []

        func validate() throws {
            if command.isEmpty {
                throw ValidationError("Give the program to run after --: btcall session activate -- COMMAND")
            }
        }

        func perform(on bridge: CallBridge, _ output: Output) async throws {
            try await HeldCommand.run(command, holding: try await bridge.session.activate(), output)
        }
    }
}
