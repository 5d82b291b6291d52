package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// Runs the commands of `[hooks]` and `[buttons]`: without a shell, one at a time for an event, in the order of the events.
///
/// The output of a command goes to the log. A command that exceeds its time limit is killed with its children.
@ControlPlane
package final class HookRunner {
    /// Commands that may wait for one event; later ones are dropped with a warning.
    package nonisolated static let mostWaiting = 16
    private static let mostOutput = 4000
    /// Longest logged line of a command's output, in bytes.
    private static let longestLine = 300
    /// Prefix of the ids of all problems with commands.
    package nonisolated static let problemPrefix = "hook."

    /// A command has ended.
    package var onEnd: (@ControlPlane (HookEvent, _ isFailure: Bool) -> Void)?
    private let limit: Duration
    private let problems: ProblemList
    private let logger: Logger
    private var isStopped = false
    private let commands: CommandRunner

    package init(limit: Duration, problems: ProblemList, logger: Logger) {
        self.limit = limit
        self.problems = problems
        self.logger = logger
        commands = CommandRunner(within: limit, mostWaiting: Self.mostWaiting, keeping: Self.mostOutput)
    }

    /// - Parameter environment: variables by name, added to the daemon's own.
    package func run(_ command: CommandWords, for event: HookEvent, _ environment: [String: String]) {
        guard !isStopped else { return }
        let hasRoom = commands.run(command.words, in: event.rawValue, adding: environment) { [weak self] outcome in
            guard let self else { return }
            let failure = failure(outcome, event)
            report(failure, of: command, for: event)
            onEnd?(event, failure != nil)
        }
        if !hasRoom {
            logger.warning("\(event.rawValue): \(Self.mostWaiting) commands wait already: this one is dropped")
        }
    }

    /// Kills the running command and returns when it has ended.
    package func stop() async {
        isStopped = true
        await commands.stop()
    }

    private func failure(_ outcome: CommandRunner.Outcome, _ event: HookEvent) -> String? {
        switch outcome {
        case .notStarted(let error): return "\(error)"
        case .ended(let report):
            for line in report.output.split(whereSeparator: \.isNewline) {
                logger.info("\(event.rawValue): \(PrintableText.line(line, longest: Self.longestLine))")
            }
            if report.wasKilled { return "it did not end within \(limit)" }
            return report.status == 0 ? nil : "status \(report.status)"
        }
    }

    private func report(_ failure: String?, of command: CommandWords, for event: HookEvent) {
        let id = Self.problemPrefix + event.rawValue
        guard let failure else { return problems.end(id) }
        problems.begin(
            id, what: "the command for \(event.rawValue) failed: \(failure)",
            remedy: "run `\(command)` by hand as the user of btcalld, or take it out of the configuration")
    }
}
