internal import CBTCall
internal import Glibc
internal import Synchronization

/// All state that other threads share with the loop's thread: their jobs, and whether the loop runs and sleeps.
///
/// The lock is a futex of the Swift runtime that the thread sanitizer does not know. Only this file touches the guarded
/// state, so that only this file has to be excluded from its findings (`scripts/thread-sanitizer.supp`), not the jobs that
/// the loop runs.
final class JobInbox: Sendable {
    struct Job: Sendable {
        let job: UnownedJob
        /// Whether its task prefers this executor, as opposed to an actor isolated to it. A job has to run as the kind that
        /// it was enqueued as: the runtime compares, and would enqueue it again at every call of an async function.
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
    /// - Returns: whether the loop has to be woken for it, and whether a thread has to be started for the loop.
    func add(_ job: Job) -> (wake: Bool, start: Bool) {
        state.withLock { state in
            state.jobs.append(job)
            let start = state.runner == .none
            if start { state.runner = .background }
            defer { state.isSleeping = false }
            return (state.isSleeping, start)
        }
    }

    /// Takes the waiting jobs, and leaves the given array for later ones.
    ///
    /// - Parameter jobs: empty, with capacity.
    func exchange(_ jobs: inout [Job]) {
        state.withLock { swap(&jobs, &$0.jobs) }
    }

    /// Claims the loop for the calling thread.
    ///
    /// - Returns: nil, or, if a background thread runs the loop, an eventfd that becomes readable when that has ended.
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

    /// Notes that the loop has ended.
    ///
    /// - Returns: the eventfd of the waiting thread; -1 if none waits.
    func finish() -> Int32 {
        state.withLock { state in
            state.runner = .finished
            defer { state.waiter = -1 }
            return state.waiter
        }
    }

    /// Called before the loop waits for descriptors.
    ///
    /// - Parameter hasTime: whether none of the loop's own work is due at once.
    /// - Returns: whether the loop goes on, and whether it may wait; if so, adding a job has to wake it.
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
