package import ArgumentParser
import ControlLoop
import Glibc
import Spelling

/// Command line handling common to btcall's programs.
package enum Program {
    /// The name by which the program was started, for its messages.
    package static let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "btcall"

    /// Runs the verb on the command line, and exits when it fails.
    ///
    /// - Parameters:
    ///   - root: the program's first command.
    ///   - firstScreen: output without a verb; empty for the parser's own.
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

    /// The output for a command line without a verb; nil for any other.
    package static func help(
        for arguments: [String], _ root: any ParsableCommand.Type, _ firstScreen: [String]
    ) -> String? {
        switch CommandWords.withoutOptions(arguments) {
        case [], ["help"], ["--help"], ["-h"]: firstScreen.joined(separator: "\n") + "\n"
        case ["help", "--all"], ["--help", "--all"], ["--all", "--help"], ["-h", "--all"]: root.helpMessage() + "\n"
        default: nil
        }
    }

    /// The failure of a refused command line: an unknown verb rather than the parser's interpretation of it.
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
