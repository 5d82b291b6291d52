package import ControlLoop

/// Writes the files of the state directory outside the control loop, so that a slow disk does not hold up calls.
///
/// Each write runs in its own thread, one at a time, in the order of the requests. Of several waiting texts for one file
/// only the latest is written. A failed write is retried every `pause` until it succeeds or a newer text for the file is
/// requested; so a setting made while the disk was full is stored once it has room.
@ControlPlane
package final class StateWriter {
    package nonisolated static let pause = Duration.seconds(30)

    /// The result of one attempt; nil: the disk has the file.
    package typealias Outcome = @ControlPlane (SystemError?) -> Void
    /// Replaces a file by a text; nil once the disk has it.
    package typealias Replacement = @Sendable (_ file: StateFile, _ text: String) -> SystemError?

    private final class Job: Sendable {
        let file: StateFile
        let text: String
        /// Number of the request, or of the first one that it replaces.
        let number: UInt64
        let outcome: Outcome
        let writer: StateWriter

        init(_ file: StateFile, _ text: String, _ number: UInt64, _ writer: StateWriter, _ outcome: @escaping Outcome) {
            self.file = file
            self.text = text
            self.number = number
            self.writer = writer
            self.outcome = outcome
        }

        func run() -> SystemError? { writer.replace(file, text) }
    }

    private let replace: Replacement
    private let pause: Duration
    private let isImmediate: Bool
    private var current: Job?
    private var waiting: [Job] = []
    private var failed: [Job] = []
    private var lastNumber: UInt64 = 0
    private var retry: Timer?
    private var settlers: [(number: UInt64, continuation: CheckedContinuation<Void, Never>)] = []

    /// - Parameters:
    ///   - pause: time between two attempts after a failure.
    ///   - isImmediate: writes in the caller's thread, before `write` returns.
    ///   - replace: replaced by tests; called in another thread.
    package nonisolated init(
        pause: Duration = StateWriter.pause, isImmediate: Bool = false,
        replace: @escaping Replacement = { file, text in
            do throws(SystemError) {
                try file.replace(with: text)
                return nil
            } catch {
                return error
            }
        }
    ) {
        self.replace = replace
        self.pause = pause
        self.isImmediate = isImmediate
    }

    /// Requests to replace a file by a text.
    ///
    /// - Parameter outcome: called after each attempt, unless a newer text for this file was requested before.
    package func write(_ text: String, to file: StateFile, _ outcome: @escaping Outcome) {
        lastNumber += 1
        failed.removeAll { $0.file.path == file.path }
        if let index = waiting.firstIndex(where: { $0.file.path == file.path }) {
            waiting[index] = Job(file, text, waiting[index].number, self, outcome)
        } else {
            waiting.append(Job(file, text, lastNumber, self, outcome))
        }
        next()
    }

    /// Returns when every request so far has been attempted.
    package func settle() async {
        guard isBusy(upTo: lastNumber) else { return }
        let number = lastNumber
        await withCheckedContinuation { settlers.append((number, $0)) }
    }

    /// Retries failed writes once, and returns when no attempt is left.
    package func finish() async {
        tryAgain()
        await settle()
        retry?.cancel()
        retry = nil
    }

    private func isBusy(upTo number: UInt64) -> Bool {
        current.map { $0.number <= number } == true || waiting.contains { $0.number <= number }
    }

    private func next() {
        while current == nil, !waiting.isEmpty {
            let job = waiting.removeFirst()
            current = job
            guard isImmediate || !start(job) else { return }
            finished(job, job.run())
        }
    }

    /// - Returns: false when no thread could be started.
    private func start(_ job: Job) -> Bool {
        ControlLoop.runBeside(
            "btcall-state", { job.run() },
            then: { [self] error in
                finished(job, error)
                next()
            })
    }

    private func finished(_ job: Job, _ error: SystemError?) {
        current = nil
        // The outcome of the newer text for this file replaces this one.
        if !waiting.contains(where: { $0.file.path == job.file.path }) {
            if error != nil {
                failed.append(job)
                retryLater()
            }
            job.outcome(error)
        }
        let ready = settlers.filter { !isBusy(upTo: $0.number) }
        settlers.removeAll { settler in ready.contains { $0.number == settler.number } }
        for settler in ready { settler.continuation.resume() }
    }

    private func retryLater() {
        guard retry == nil, !isImmediate else { return }
        retry = ControlLoop.shared.schedule(after: pause) { [weak self] in
            self?.retry = nil
            self?.tryAgain()
        }
    }

    private func tryAgain() {
        let jobs = failed
        failed = []
        waiting += jobs
        next()
    }
}
