/// Runs commands for events: one at a time in each queue, in the order of the requests.
///
/// A command that exceeds its time limit is killed with its children.
@ControlPlane
package final class CommandRunner {
    /// How a command ended.
    package enum Outcome: Sendable {
        case ended(ControlLoop.ChildReport)
        case notStarted(SystemError)
    }

    private struct Run {
        let words: [String]
        let environment: [String: String]
        let end: @ControlPlane (Outcome) -> Void
    }

    private struct Queue {
        var running: Task<Void, Never>?
        var waiting: [Run] = []
    }

    private let limit: Duration
    private let mostWaiting: Int
    private let mostOutput: Int?
    private var queues: [String: Queue] = [:]
    private var isStopped = false

    /// - Parameters:
    ///   - limit: time after which a command is killed.
    ///   - mostWaiting: commands of one queue that may wait for their turn.
    ///   - mostOutput: bytes of a command's output that are kept; nil: the command inherits this process's output.
    package init(within limit: Duration, mostWaiting: Int, keeping mostOutput: Int?) {
        self.limit = limit
        self.mostWaiting = mostWaiting
        self.mostOutput = mostOutput
    }

    /// - Parameters:
    ///   - words: the program and its arguments.
    ///   - environment: variables by name, added to this process's own.
    ///   - end: called when the command has ended, before the next one of the queue begins; not after ``stop()``.
    /// - Returns: false when the command is dropped, because too many wait.
    package func run(
        _ words: [String], in queue: String, adding environment: [String: String],
        then end: @escaping @ControlPlane (Outcome) -> Void
    ) -> Bool {
        guard !isStopped, waitingCount(in: queue) < mostWaiting else { return false }
        queues[queue, default: Queue()].waiting.append(Run(words: words, environment: environment, end: end))
        next(queue)
        return true
    }

    /// Number of commands of a queue that have not begun.
    package func waitingCount(in queue: String) -> Int { queues[queue]?.waiting.count ?? 0 }

    /// Kills the running commands and returns when they have ended. Waiting commands are dropped.
    package func stop() async {
        isStopped = true
        let tasks = queues.values.compactMap(\.running)
        queues = [:]
        for task in tasks { task.cancel() }
        for task in tasks { await task.value }
    }

    private func next(_ queue: String) {
        guard let state = queues[queue], state.running == nil, let run = state.waiting.first else { return }
        queues[queue]?.waiting.removeFirst()
        queues[queue]?.running = Task { @ControlPlane in
            let outcome = await carryOut(run)
            guard !isStopped else { return }
            queues[queue]?.running = nil
            run.end(outcome)
            next(queue)
        }
    }

    private func carryOut(_ run: Run) async -> Outcome {
        do throws(SystemError) {
            let report = try await ControlLoop.shared.run(
                run.words, adding: run.environment, within: limit, keeping: mostOutput)
            return .ended(report)
        } catch {
            return .notStarted(error)
        }
    }
}
