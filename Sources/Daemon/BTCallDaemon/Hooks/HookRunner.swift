package import Configuration
package import ControlLoop
package import Diagnostics
package import Logging

/// Runs the commands of `[hooks]` and `[buttons]`: without a shell, one at a time for an event, in the order in which things
/// happened.
///
/// What a command writes goes to the log. One that takes longer than its time is killed with what it started.
@ControlPlane
package final class HookRunner {
    /// For one event; later ones are dropped, which is said.
    package nonisolated static let mostWaiting = 16
    private static let mostOutput = 4000
    /// Of what a command writes, in bytes.
    private static let longestLine = 300
    /// What every one of their problems begins with.
    package nonisolated static let problemPrefix = "hook."

    private struct Run {
        let command: CommandWords
        let environment: [String: String]
    }

    /// A command has ended.
    package var onEnd: (@ControlPlane (HookEvent, _ isFailure: Bool) -> Void)?
    private let limit: Duration
    private let problems: ProblemList
    private let logger: Logger
    private var running: [HookEvent: Task<Void, Never>] = [:]
    private var waiting: [HookEvent: [Run]] = [:]
    private var isStopped = false

    package init(limit: Duration, problems: ProblemList, logger: Logger) {
        self.limit = limit
        self.problems = problems
        self.logger = logger
    }

    /// - Parameter environment: by name, beside what the daemon has in its own.
    package func run(_ command: CommandWords, for event: HookEvent, _ environment: [String: String]) {
        guard !isStopped else { return }
        guard waiting[event]?.count ?? 0 < Self.mostWaiting else {
            logger.warning("\(event.rawValue): \(Self.mostWaiting) wait for their turn already; this one is dropped")
            return
        }
        waiting[event, default: []].append(Run(command: command, environment: environment))
        next(event)
    }

    /// Kills what runs, and returns when that has ended.
    package func stop() async {
        isStopped = true
        waiting = [:]
        let tasks = Array(running.values)
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func next(_ event: HookEvent) {
        guard running[event] == nil, let run = waiting[event]?.first else { return }
        waiting[event]?.removeFirst()
        running[event] = Task { @ControlPlane in
            let failure = await carryOut(run, event)
            running[event] = nil
            guard !isStopped else { return }
            tell(failure, run.command, event)
            onEnd?(event, failure != nil)
            next(event)
        }
    }

    private func carryOut(_ run: Run, _ event: HookEvent) async -> String? {
        do throws(SystemError) {
            let report = try await ControlLoop.shared.run(
                run.command.words, adding: run.environment, within: limit, keeping: Self.mostOutput)
            for line in report.output.split(whereSeparator: \.isNewline) where !isStopped {
                logger.info("\(event.rawValue): \(PrintableText.line(line, longest: Self.longestLine))")
            }
            if report.wasKilled { return "it did not end within \(limit)" }
            return report.status == 0 ? nil : "status \(report.status)"
        } catch {
            return "\(error)"
        }
    }

    private func tell(_ failure: String?, _ command: CommandWords, _ event: HookEvent) {
        let id = Self.problemPrefix + event.rawValue
        guard let failure else { return problems.end(id) }
        problems.begin(
            id, what: "the command for \(event.rawValue) failed: \(failure)",
            remedy: "run `\(command)` by hand as the user of btcalld, or take it out of the configuration")
    }
}
