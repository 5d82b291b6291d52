import ArgumentParser
import ControlLoop
import Glibc

/// `--yes` of a verb that ends calls or removes a headset's data.
package struct ConfirmationOptions: ParsableArguments, Sendable {
    @Flag(name: [.customShort("y"), .long], help: "Do not ask for confirmation on a terminal.")
    package var yes = false

    package init() {}

    /// Asks for confirmation; without a terminal, or with `--yes`, does not ask.
    ///
    /// - Parameter what: the consequences; nil when nothing would be lost. Evaluated only if a question is asked.
    /// - Throws: ``CommandFailure`` unless the answer begins with y; errors of `what`.
    @ControlPlane
    package func confirm(
        _ output: Output, _ terminal: Terminal = .process, _ what: @ControlPlane () async throws -> String?
    ) async throws {
        guard !yes, terminal.isPresent, let what = try await what() else { return }
        output.ask("\(what): are you sure? [y/N] ")
        guard terminal.answer()?.lowercased().hasPrefix("y") == true else {
            throw CommandFailure(.cancelled, "nothing was done: answer y, or give --yes")
        }
    }

    /// The terminal for a question and its answer.
    package struct Terminal: Sendable {
        package let isPresent: Bool
        package let answer: @Sendable () -> String?

        package init(isPresent: Bool, answer: @escaping @Sendable () -> String?) {
            self.isPresent = isPresent
            self.answer = answer
        }

        /// Standard input, if it and standard error are a terminal; standard output may be redirected.
        package static var process: Terminal {
            Terminal(isPresent: isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1) { readLine() }
        }
    }
}
