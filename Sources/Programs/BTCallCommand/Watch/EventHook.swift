import ControlLoop
import JSONText

/// Runs a command for events, one at a time and in their order.
@ControlPlane
final class EventHook {
    /// Events that may wait for a hook that is slow.
    static let most = 1000

    private let command: String
    private let limit: Duration
    private let output: Output
    private let isJSON: Bool
    private var waiting: [[String: String]] = []
    private var dropped = 0
    private var runner: Task<Void, Never>?

    /// - Parameters:
    ///   - command: for /bin/sh; nothing is ever put into it.
    ///   - limit: after which it is killed.
    init(_ command: String, within limit: Duration, _ output: Output, isJSON: Bool) {
        self.command = command
        self.limit = limit
        self.output = output
        self.isJSON = isJSON
    }

    /// - Parameter environment: what the hook gets in addition to ours.
    func add(_ environment: [String: String]) {
        guard waiting.count < Self.most else {
            if dropped == 0 {
                output.printError("the hook is too slow: \(Self.most) events wait, those that come are dropped")
            }
            dropped += 1
            return
        }
        waiting.append(environment)
        guard runner == nil else { return }
        runner = Task { @ControlPlane in await self.run() }
    }

    /// Kills the hook that runs; those that wait are not run.
    func stop() async {
        waiting = []
        runner?.cancel()
        await runner?.value
    }

    private func run() async {
        while !waiting.isEmpty {
            let environment = waiting.removeFirst()
            if dropped > 0, waiting.isEmpty {
                output.printError("\(dropped) events were dropped")
                dropped = 0
            }
            await run(environment)
        }
        runner = nil
    }

    private func run(_ environment: [String: String]) async {
        let word = environment["BTCALL_EVENT"] ?? ""
        do throws(SystemError) {
            let (status, wasKilled) = try await ControlLoop.shared.run(
                ["/bin/sh", "-c", command], adding: environment, within: limit)
            guard !Task.isCancelled else { return }
            if isJSON {
                let line: JSON = [
                    "event": .string(word), "status": JSON(Int(status)), "killed": JSON(wasKilled),
                ]
                output.printLine(line)
            }
            if wasKilled {
                output.printError("the hook for \(word) was killed: it took longer than \(limit) (--timeout)")
            } else if status != 0 {
                output.printError("the hook for \(word) ended with \(status)")
            }
        } catch {
            output.printError("the hook for \(word) cannot be run: \(error)")
        }
    }
}
