package import ControlLoop

/// Writes the files of the state directory beside the control loop: a slow disk holds up no call.
///
/// Each file is written in a thread of its own that ends with it, one file at a time, in the order in which they were asked for. Of
/// several texts for one file that wait, the latest is written. What could not be written is tried again, every `pause`, until it
/// is, or something newer for the same file was asked for; so that a setting made while the disk was full is kept once it has room.
@ControlPlane
package final class StateWriter {
    package nonisolated static let pause = Duration.seconds(30)

    /// What became of one attempt; nil: the disk has the file.
    package typealias Outcome = @ControlPlane (SystemError?) -> Void
    /// Puts a text in the place of a file; nil once the disk has it.
    package typealias Replacement = @Sendable (_ file: StateFile, _ text: String) -> SystemError?

    private final class Job: Sendable {
        let file: StateFile
        let text: String
        /// The request that it came with, or the first one that it stands for.
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
    ///   - pause: between two attempts at what could not be written.
    ///   - isImmediate: writes in the caller's thread, before `write` returns.
    ///   - replace: something else in tests; called in another thread.
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

    /// Puts a text in the place of a file.
    ///
    /// - Parameter outcome: called after each attempt, unless a newer text for this file was asked for before.
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

    /// Returns when everything that was asked for so far has been tried.
    package func settle() async {
        guard isBusy(upTo: lastNumber) else { return }
        let number = lastNumber
        await withCheckedContinuation { settlers.append((number, $0)) }
    }

    /// Tries once more what could not be written, and returns when nothing is left to be tried.
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

    /// - Returns: false when there is no thread to be had.
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
        // What is newer tells how it is.
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
