package import ArgumentParser
import ControlLoop
import Spelling

/// What every program of btcall's does with its command line.
package enum Program {
    /// The name that the program was started by, for its messages.
    package static let name = CommandLine.arguments.first?.split(separator: "/").last.map(String.init) ?? "btcall"

    /// Runs the verb that the command line names, and exits where that fails.
    ///
    /// - Parameter root: the program's first command.
    package static func run(_ root: any ParsableCommand.Type) {
        StandardDescriptors.open()
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            var command = try root.parseAsRoot(arguments)
            try command.run()
        } catch {
            root.exit(withError: explained(error, of: arguments, root))
        }
    }

    /// What a refused command line fails with: an unknown verb rather than what the parser then takes it for.
    package static func explained(
        _ error: any Error, of arguments: [String], _ root: any ParsableCommand.Type
    ) -> any Error {
        guard root.exitCode(for: error) == .validationFailure,
            let unknown = Suggestion.unknownVerb(in: arguments, of: root)
        else { return error }
        return ValidationError(unknown)
    }
}
