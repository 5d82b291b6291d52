package import BluetoothTypes
internal import CBTCall
internal import Glibc
internal import Synchronization

/// One thread that waits for descriptors, timers and signals, and runs every job of the control plane.
///
/// It is the executor of `ControlPlane`. The daemon's main thread claims it by `run()` before anything uses it; then all
/// tasks run on it, nonisolated ones too, and the process has no other thread. Elsewhere (tests, command line) the first job
/// starts a thread for it, beside those of the runtime's pool. It sleeps without any periodic wake-up, and another thread
/// that enqueues a job needs a system call only if the loop sleeps.
package final class ControlLoop: SerialExecutor, TaskExecutor, Sendable {
    package static let shared = ControlLoop()

    private static let capacity = 64
    private static let wakeToken = UInt64.max

    private let inbox = JobInbox()
    private let thread = Atomic<UInt>(0)
    let epoll: Int32
    private let wakeDescriptor: Int32

    @ControlPlane private var spare: [JobInbox.Job] = []
    @ControlPlane var deferred: [@ControlPlane () -> Void] = []
    @ControlPlane var timers = TimerQueue()
    @ControlPlane var timerOrder: UInt64 = 0
    @ControlPlane var entries: [Int32: DescriptorEntry] = [:]
    @ControlPlane var generation: UInt32 = 0
    @ControlPlane let signals = SignalTable()

    init() {
        epoll = epoll_create1(Int32(EPOLL_CLOEXEC))
        wakeDescriptor = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        guard
            epoll >= 0, wakeDescriptor >= 0,
            btcall_epoll_control(epoll, EPOLL_CTL_ADD, wakeDescriptor, EPOLLIN.rawValue, Self.wakeToken) == 0
        else { SystemError.abandon(SystemError("epoll_create1").description) }
    }

    /// The time of `CLOCK_MONOTONIC`.
    package static var now: Instant {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Instant(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    // MARK: Running

    /// Runs the loop on the calling thread and ends the process with success after `stop()`.
    ///
    /// - Parameter start: called on the loop before anything else.
    package func run(_ start: (@ControlPlane () -> Void)? = nil) -> Never {
        runUntilStopped(start)
        exit(0)
    }

    /// Makes the loop run the tasks that belong to no actor as well, so that the runtime starts no threads. `run()` does
    /// this; a program that leaves the loop to its background thread may do it before its first task.
    ///
    /// A test must not: code that blocks in a test would block the loop.
    package func replaceGlobalExecutor() {
        btcall_replace_global_executor { job in
            guard let job else { return }
            ControlLoop.shared.enqueue(JobInbox.Job(job: unsafeBitCast(job, to: UnownedJob.self), isPreferred: false))
        }
    }

    /// Runs the loop on the calling thread until `stop()`, and all tasks on it (`replaceGlobalExecutor()`).
    ///
    /// If an earlier job has started a background thread, the calling thread only waits for the end of that thread.
    package func runUntilStopped(_ start: (@ControlPlane () -> Void)? = nil) {
        let waiter = inbox.claim()
        if waiter == nil { replaceGlobalExecutor() }
        if let waiter {
            if let start { Task { @ControlPlane in start() } }
            var count: UInt64 = 0
            while read(waiter, &count, MemoryLayout<UInt64>.size) < 0 && errno == EINTR {}
            close(waiter)
            return
        }
        turnUntilStopped(start)
    }

    /// Makes the loop return at the end of its present turn. Callable from any thread.
    package func stop() {
        if inbox.requestStop() { signalWake() }
    }

    private func turnUntilStopped(_ start: (@ControlPlane () -> Void)?) {
        thread.store(btcall_thread_token(), ordering: .relaxed)
        ControlPlane.assumeIsolated {
            start?()
            let events = UnsafeMutablePointer<epoll_event>.allocate(capacity: Self.capacity)
            defer { events.deallocate() }
            while turn(events) {}
        }
        thread.store(0, ordering: .relaxed)
        let waiter = inbox.finish()
        var one: UInt64 = 1
        if waiter >= 0 { _ = write(waiter, &one, MemoryLayout<UInt64>.size) }
    }

    private func startBackgroundThread() {
        let code = btcall_start_thread(
            1 << 21,
            { _ in
                btcall_set_thread_name("btcall-loop")
                ControlLoop.shared.turnUntilStopped(nil)
            }, nil)
        if code != 0 { SystemError.abandon(SystemError(call: "pthread_create", code: code).description) }
    }

    /// One round: jobs, deferred handlers, timers, then ready descriptors. False ends the loop.
    @ControlPlane
    private func turn(_ events: UnsafeMutablePointer<epoll_event>) -> Bool {
        runJobs()
        runDeferred()
        runTimers()
        let limit = timeout()
        let (goesOn, mayBlock) = inbox.prepareSleep(hasTime: limit != 0)
        guard goesOn else { return false }
        let count = btcall_epoll_wait(epoll, events, Int32(Self.capacity), mayBlock ? limit : 0)
        if mayBlock { inbox.endSleep() }
        for index in 0..<max(0, Int(count)) { deliver(events[index]) }
        return true
    }

    @ControlPlane
    private func runJobs() {
        inbox.exchange(&spare)
        for entry in spare {
            if entry.isPreferred {
                entry.job.runSynchronously(
                    isolatedTo: asUnownedSerialExecutor(), taskExecutor: asUnownedTaskExecutor())
            } else {
                entry.job.runSynchronously(on: asUnownedSerialExecutor())
            }
        }
        spare.removeAll(keepingCapacity: spare.count <= 1024)
    }

    @ControlPlane
    private func runDeferred() {
        guard !deferred.isEmpty else { return }
        let handlers = deferred
        deferred = []
        for handler in handlers { handler() }
    }

    @ControlPlane
    private func runTimers() {
        guard timers.first != nil else { return }
        let now = Self.now
        while let timer = timers.popDue(at: now) { timer.fire() }
    }

    /// Nanoseconds until the loop's next own work; negative without one.
    @ControlPlane
    private func timeout() -> Int64 {
        if !deferred.isEmpty { return 0 }
        guard let first = timers.first else { return -1 }
        return max(0, Self.now.duration(to: first.deadline).nanoseconds)
    }

    // MARK: Executor

    package func enqueue(_ job: consuming ExecutorJob) {
        enqueue(JobInbox.Job(job: UnownedJob(job), isPreferred: false))
    }

    @_implements(TaskExecutor,enqueue(_:))
    package func enqueuePreferred(_ job: consuming ExecutorJob) {
        enqueue(JobInbox.Job(job: UnownedJob(job), isPreferred: true))
    }

    private func enqueue(_ job: JobInbox.Job) {
        let (wake, start) = inbox.add(job)
        if start { startBackgroundThread() }
        if wake { signalWake() }
    }

    package func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

    package func asUnownedTaskExecutor() -> UnownedTaskExecutor { UnownedTaskExecutor(ordinary: self) }

    /// Whether the calling thread is the loop's.
    var isCurrent: Bool { thread.load(ordering: .relaxed) == btcall_thread_token() }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package func checkIsolated() {
        if !isCurrent { SystemError.abandon("code of the control plane ran on another thread") }
    }

    private func signalWake() {
        var one: UInt64 = 1
        // Can only fail with EAGAIN when the counter is full: then the loop wakes anyway.
        _ = write(wakeDescriptor, &one, MemoryLayout<UInt64>.size)
    }

    @ControlPlane
    private func deliver(_ event: epoll_event) {
        guard event.data.u64 != Self.wakeToken else {
            var count: UInt64 = 0
            _ = read(wakeDescriptor, &count, MemoryLayout<UInt64>.size)
            return
        }
        deliver(event.events, token: event.data.u64)
    }
}
