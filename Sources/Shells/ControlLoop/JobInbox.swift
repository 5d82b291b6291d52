internal import CBTCall
internal import Glibc
internal import Synchronization

/// What other threads leave for the loop, and whether it runs and sleeps: all that they share with its thread.
///
/// The lock is a futex of the Swift runtime that the thread sanitizer does not know. What it guards is touched in this file
/// alone, so that only this file has to be left out of its findings (`scripts/thread-sanitizer.supp`), not the jobs that the
/// loop runs.
final class JobInbox: Sendable {
    struct Job: Sendable {
        let job: UnownedJob
        /// Whether it came because its task prefers this executor, not because an actor is isolated to it. A job has to
        /// run as what it came: the runtime compares, and would enqueue it again at every call of an async function.
        let isPreferred: Bool
    }

    private enum Runner { case none, running, background, finished }

    private struct State {
        var jobs: [Job] = []
        var isSleeping = false
        var isStopRequested = false
        var runner = Runner.none
        /// An eventfd that a thread waits on until the background thread's loop ends; -1 if none does.
        var waiter: Int32 = -1
    }

    private let state = Mutex(State())

    /// Adds a job.
    ///
    /// - Returns: whether the loop has to be woken for it, and whether it has to be started on a thread of its own.
    func add(_ job: Job) -> (wake: Bool, start: Bool) {
        state.withLock { state in
            state.jobs.append(job)
            let start = state.runner == .none
            if start { state.runner = .background }
            defer { state.isSleeping = false }
            return (state.isSleeping, start)
        }
    }

    /// Takes the jobs that have come, and leaves the array for those to come.
    ///
    /// - Parameter jobs: empty, with room.
    func exchange(_ jobs: inout [Job]) {
        state.withLock { swap(&jobs, &$0.jobs) }
    }

    /// The calling thread is to run the loop.
    ///
    /// - Returns: nil, or, where a background thread runs it, an eventfd that can be read when that has ended.
    func claim() -> Int32? {
        state.withLock { state -> Int32? in
            state.isStopRequested = false
            if state.runner == .background {
                state.waiter = eventfd(0, Int32(EFD_CLOEXEC))
                return state.waiter
            }
            state.runner = .running
            return nil
        }
    }

    /// - Returns: whether the loop has to be woken for it.
    func requestStop() -> Bool {
        state.withLock { state in
            state.isStopRequested = true
            defer { state.isSleeping = false }
            return state.isSleeping
        }
    }

    /// The loop has ended.
    ///
    /// - Returns: the eventfd of who waits for that; -1 if nobody does.
    func finish() -> Int32 {
        state.withLock { state in
            state.runner = .finished
            defer { state.waiter = -1 }
            return state.waiter
        }
    }

    /// Before the loop waits for descriptors.
    ///
    /// - Parameter hasTime: whether nothing else of the loop's is due at once.
    /// - Returns: whether the loop goes on, and whether it may wait; who adds a job then has to wake it.
    func prepareSleep(hasTime: Bool) -> (goesOn: Bool, mayBlock: Bool) {
        state.withLock { state in
            let idle = state.jobs.isEmpty && hasTime
            state.isSleeping = idle && !state.isStopRequested
            return (!state.isStopRequested, idle)
        }
    }

    func endSleep() {
        state.withLock { $0.isSleeping = false }
    }
}
