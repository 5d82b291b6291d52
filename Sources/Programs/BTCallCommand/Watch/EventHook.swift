import CommandKit
import ControlLoop
import JSONText

/// Runs a command for events, one at a time and in order.
@ControlPlane
final class EventHook {
    /// Most events that wait for a slow hook.
    static let most = 1000

    private let command: String
    private let limit: Duration
    private let output: Output
    private let isJSON: Bool
    private let commands: CommandRunner
    private var dropped = 0
    private static let queue = "events"

    /// - Parameters:
    ///   - command: run by /bin/sh, without any substitution.
    ///   - limit: time after which it is killed.
    init(_ command: String, within limit: Duration, _ output: Output, isJSON: Bool) {
        self.command = command
        self.limit = limit
        self.output = output
        self.isJSON = isJSON
        commands = CommandRunner(within: limit, mostWaiting: Self.most, keeping: nil)
    }

    /// - Parameter environment: the hook's variables in addition to this process's.
    func add(_ environment: [String: String]) {
        let word = environment["BTCALL_EVENT"] ?? ""
        let hasRoom = commands.run(["/bin/sh", "-c", command], in: Self.queue, adding: environment) {
            [weak self] outcome in
            self?.tell(outcome, word)
        }
        guard !hasRoom else { return }
        if dropped == 0 {
            output.printError("the hook is too slow: \(Self.most) events wait, further ones are dropped")
        }
        dropped += 1
    }

    /// Kills the running hook; waiting ones are not run.
    func stop() async { await commands.stop() }

    private func tell(_ outcome: CommandRunner.Outcome, _ word: String) {
        switch outcome {
        case .ended(let report):
            if isJSON {
                let line: JSON = [
                    "event": .string(word), "status": JSON(report.status), "killed": JSON(report.wasKilled),
                ]
                output.printLine(line)
            }
            if report.wasKilled {
                output.printError("the hook for \(word) was killed: it took longer than \(limit) (--timeout)")
            } else if report.status != 0 {
                output.printError("the hook for \(word) ended with \(report.status)")
            }
        case .notStarted(let error): output.printError("the hook for \(word) cannot be run: \(error)")
        }
        // The last waiting event begins.
        if dropped > 0, commands.waitingCount(in: Self.queue) <= 1 {
            output.printError("\(dropped) events were dropped")
            dropped = 0
        }
    }
}
