package import BluetoothTypes
internal import CBTCall
internal import Glibc

extension ControlLoop {
    // MARK: Timers

    /// Calls `handler` once, at `deadline` or in the first turn after it.
    @ControlPlane @discardableResult
    package func schedule(at deadline: Instant, _ handler: @escaping @ControlPlane () -> Void) -> Timer {
        timerOrder += 1
        let timer = Timer(deadline: deadline, order: timerOrder, loop: self, handler)
        timers.insert(timer)
        return timer
    }

    @ControlPlane @discardableResult
    package func schedule(after delay: Duration, _ handler: @escaping @ControlPlane () -> Void) -> Timer {
        schedule(at: Self.now.advanced(by: delay), handler)
    }

    @ControlPlane
    func remove(_ timer: Timer) {
        timers.remove(timer)
    }

    /// Calls `handler` in the loop's next turn, not inside the present handler or job.
    @ControlPlane
    package func perform(_ handler: @escaping @ControlPlane () -> Void) {
        deferred.append(handler)
    }

    /// Suspends the task until `deadline`, without a thread. Returns early when the task is cancelled.
    package func sleep(until deadline: Instant) async {
        await Sleeper.sleep(until: deadline, on: self)
    }

    /// Suspends the task for a time. Returns early when the task is cancelled.
    package func sleep(for duration: Duration) async {
        await Sleeper.sleep(until: Self.now.advanced(by: duration), on: self)
    }

    // MARK: Signals

    /// Receives a signal through the loop instead of letting it interrupt or end the process.
    ///
    /// The signal is blocked in the loop's thread and in those that are started after it: call this before starting others.
    @ControlPlane
    package func onSignal(
        _ signal: Int32, _ handler: @escaping @ControlPlane () -> Void
    ) throws(SystemError) -> SignalSource {
        try signals.add(signal, on: self, handler)
    }

    // MARK: Descriptors

    /// Calls `handler` whenever the descriptor is ready for `interest` (level triggered), until cancelled.
    ///
    /// - Throws: what epoll refuses: `EBADF`, `EPERM` for a regular file, `ENOSPC`.
    @ControlPlane
    package func add(
        _ descriptor: Int32, _ interest: Interest, _ handler: @escaping @ControlPlane (Readiness) -> Void
    ) throws(SystemError) -> DescriptorSource {
        let source = DescriptorSource(descriptor: descriptor, interest: interest, loop: self, handler)
        let entry = entries[descriptor] ?? DescriptorEntry()
        entry.sources.append(source)
        do {
            try register(entry, descriptor)
        } catch {
            entry.sources.removeLast()
            throw error
        }
        entries[descriptor] = entry
        return source
    }

    @ControlPlane
    func interestChanged(of source: DescriptorSource) {
        guard let entry = entries[source.descriptor] else { return }
        // Fails only for a descriptor that its owner has closed too early: it never becomes ready then.
        try? register(entry, source.descriptor)
    }

    @ControlPlane
    func remove(_ source: DescriptorSource) {
        guard let entry = entries[source.descriptor] else { return }
        entry.sources.removeAll { $0 === source }
        // As above.
        try? register(entry, source.descriptor)
        if entry.sources.isEmpty { entries[source.descriptor] = nil }
    }

    /// Updates the epoll registration to the interest of the entry's sources: adds, changes or, without interest, removes it
    /// (epoll would keep reporting a hang-up).
    @ControlPlane
    private func register(_ entry: DescriptorEntry, _ descriptor: Int32) throws(SystemError) {
        var wanted: UInt32 = 0
        let interest = entry.interest
        if interest.contains(.readable) { wanted |= EPOLLIN.rawValue }
        if interest.contains(.writable) { wanted |= EPOLLOUT.rawValue }
        // The kernel always reports it; the bit distinguishes this interest from none.
        if interest.contains(.hangup) { wanted |= EPOLLHUP.rawValue }
        if wanted == 0 {
            // The descriptor may have left the set when its owner closed it.
            if entry.registered != 0 { _ = btcall_epoll_control(epoll, EPOLL_CTL_DEL, descriptor, 0, 0) }
            entry.registered = 0
            return
        }
        if entry.registered != 0 {
            let token = Self.token(entry.generation, descriptor)
            if btcall_epoll_control(epoll, EPOLL_CTL_MOD, descriptor, wanted, token) == 0 {
                entry.registered = wanted
                return
            }
            // The number now belongs to another open file: the registration went with the old one.
            guard errno == ENOENT else { throw SystemError("epoll_ctl") }
            entry.registered = 0
        }
        generation &+= 1
        entry.generation = generation
        guard
            btcall_epoll_control(
                epoll, EPOLL_CTL_ADD, descriptor, wanted, Self.token(entry.generation, descriptor)) == 0
        else { throw SystemError("epoll_ctl") }
        entry.registered = wanted
    }

    @ControlPlane
    func deliver(_ events: UInt32, token: UInt64) {
        let descriptor = Int32(truncatingIfNeeded: token)
        guard let entry = entries[descriptor], entry.generation == UInt32(truncatingIfNeeded: token >> 32) else {
            return
        }
        var readiness: Readiness = []
        if events & EPOLLIN.rawValue != 0 { readiness.insert(.readable) }
        if events & EPOLLOUT.rawValue != 0 { readiness.insert(.writable) }
        if events & EPOLLHUP.rawValue != 0 { readiness.insert(.hangup) }
        if events & EPOLLERR.rawValue != 0 { readiness.insert(.error) }
        for source in entry.sources { source.deliver(readiness) }
    }

    private static func token(_ generation: UInt32, _ descriptor: Int32) -> UInt64 {
        UInt64(generation) << 32 | UInt64(UInt32(bitPattern: descriptor))
    }
}

/// One suspended `sleep`.
@ControlPlane
private final class Sleeper {
    private var continuation: CheckedContinuation<Void, Never>?
    private var timer: Timer?

    nonisolated init() {}

    static func sleep(until deadline: Instant, on loop: ControlLoop) async {
        let sleeper = Sleeper()
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                sleeper.continuation = continuation
                sleeper.timer = loop.schedule(at: deadline) { sleeper.finish() }
            }
        } onCancel: {
            // Also of a task that was cancelled before: if it sleeps in a loop, others have their turn.
            Task { @ControlPlane in sleeper.finish() }
        }
    }

    private func finish() {
        timer?.cancel()
        timer = nil
        continuation?.resume()
        continuation = nil
    }
}
