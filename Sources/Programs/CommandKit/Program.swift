package import ArgumentParser
import ControlLoop
import Glibc
import Spelling

/// What every program of btcall's does with its command line.
package enum Program {
    /// The name that the program was started by, for its messages.
    package static let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "btcall"

    /// Runs the verb that the command line names, and exits where that fails.
    ///
    /// - Parameters:
    ///   - root: the program's first command.
    ///   - firstScreen: what is printed without a verb; empty: what the parser prints.
    package static func run(
        _ root: any ParsableCommand.Type, _ oldNames: [CommandWords.OldName] = [], firstScreen: [String] = []
    ) {
        StandardDescriptors.open()
        let arguments = CommandWords.arranged(Array(CommandLine.arguments.dropFirst()), of: root, oldNames)
        if !firstScreen.isEmpty, let help = help(for: arguments, root, firstScreen) {
            return Output.terminal.printDocument(help)
        }
        do {
            var command = try root.parseAsRoot(arguments)
            try command.run()
        } catch {
            let error = explained(error, of: arguments, root, oldNames)
            if root.exitCode(for: error) == .validationFailure, CommandWords.wantsJSON(arguments) {
                let failure = FailureReport(commandLine: root.message(for: error))
                Output.terminal.report(failure, asJSON: true)
                exit(failure.exitCode)
            }
            root.exit(withError: error)
        }
    }

    /// What is printed for a command line that has no verb; nil for any other.
    package static func help(
        for arguments: [String], _ root: any ParsableCommand.Type, _ firstScreen: [String]
    ) -> String? {
        switch CommandWords.withoutOptions(arguments) {
        case [], ["help"], ["--help"], ["-h"]: firstScreen.joined(separator: "\n") + "\n"
        case ["help", "--all"], ["--help", "--all"], ["--all", "--help"], ["-h", "--all"]: root.helpMessage() + "\n"
        default: nil
        }
    }

    /// What a refused command line fails with: an unknown verb rather than what the parser then takes it for.
    package static func explained(
        _ error: any Error, of arguments: [String], _ root: any ParsableCommand.Type,
        _ oldNames: [CommandWords.OldName] = []
    ) -> any Error {
        guard root.exitCode(for: error) == .validationFailure,
            let unknown = Suggestion.unknownVerb(in: arguments, of: root, oldNames)
        else { return error }
        return ValidationError(unknown)
    }
}
