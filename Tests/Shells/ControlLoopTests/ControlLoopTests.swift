import BluetoothTypes
import CBTCall
import Glibc
import TestSupport
import Testing

@testable import ControlLoop

@ControlPlane
struct ControlLoopTests {
    private let loop = ControlLoop.shared

    @Test func `code of the control plane runs on the loop's thread, before and after waiting`() async {
        #expect(loop.isCurrent)
        await loop.sleep(for: .milliseconds(1))
        #expect(loop.isCurrent)
        let inside = ControlPlane.assumeIsolated { loop.isCurrent }
        #expect(inside)
    }

    @Test func `jobs of one thread run in the order of their arrival`() async {
        let mailbox = Mailbox<Int>()
        for index in 0..<1000 { Task { @ControlPlane in mailbox.put(index) } }
        #expect(await mailbox.take(1000) == Array(0..<1000))
    }

    @Test func `jobs from many threads all run`() async {
        let mailbox = Mailbox<Int>()
        for thread in 0..<8 { Self.enqueueFromAnotherThread(thread * 500..<thread * 500 + 500, mailbox) }
        #expect(await mailbox.take(4000).sorted() == Array(0..<4000))
    }

    private nonisolated static func enqueueFromAnotherThread(_ range: Range<Int>, _ mailbox: Mailbox<Int>) {
        Task { @concurrent in
            for index in range {
                Task { @ControlPlane in mailbox.put(index) }
                if index % 50 == 0 { sched_yield() }
            }
        }
    }

    // MARK: Threads

    @Test nonisolated func `a thread with a stack below the machine's least gets the least`() {
        let started = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)
        defer { started.deallocate() }
        #expect(sem_init(started, 0, 0) == 0)
        let code = btcall_start_thread(
            1, { context in if let context { sem_post(context.assumingMemoryBound(to: sem_t.self)) } }, started)
        #expect(code == 0)
        if code == 0 { sem_wait(started) }
    }

    // MARK: Timers

    @Test func `a timer fires, and not before its deadline`() async {
        let mailbox = Mailbox<Instant>()
        let deadline = ControlLoop.now.advanced(by: .milliseconds(20))
        loop.schedule(at: deadline) { mailbox.put(ControlLoop.now) }
        let fired = await mailbox.take()
        #expect(fired.allSatisfy { $0 >= deadline })
    }

    @Test func `timers fire in the order of their deadlines, cancelled ones never`() async {
        let mailbox = Mailbox<Int>()
        let now = ControlLoop.now
        loop.schedule(at: now.advanced(by: .milliseconds(9))) { mailbox.put(3) }
        let cancelled = loop.schedule(at: now.advanced(by: .milliseconds(5))) { mailbox.put(2) }
        loop.schedule(at: now.advanced(by: .milliseconds(1))) {
            mailbox.put(1)
            cancelled.cancel()
        }
        #expect(await mailbox.take(2) == [1, 3])
        #expect(!cancelled.isPending)
    }

    @Test func `a deadline in the past fires in the next turn, not at once`() async {
        let mailbox = Mailbox<String>()
        loop.schedule(at: .zero) { mailbox.put("timer") }
        mailbox.put("present")
        #expect(await mailbox.take(2) == ["present", "timer"])
    }

    @Test func `a deferred handler runs in the next turn, and what it defers in the one after`() async {
        let mailbox = Mailbox<Int>()
        loop.perform {
            mailbox.put(1)
            loop.perform { mailbox.put(3) }
            mailbox.put(2)
        }
        #expect(await mailbox.take(3) == [1, 2, 3])
    }

    // MARK: Sleeping

    @Test func `a sleep does not end early`() async {
        let deadline = ControlLoop.now.advanced(by: .milliseconds(10))
        await loop.sleep(until: deadline)
        #expect(ControlLoop.now >= deadline)
    }

    @Test func `cancelling the task ends its sleep at once`() async {
        let start = ControlLoop.now
        let task = Task { @ControlPlane in
            await loop.sleep(for: .seconds(60))
            return Task.isCancelled
        }
        loop.perform { task.cancel() }
        #expect(await task.value)
        #expect(start.duration(to: ControlLoop.now) < .seconds(30))
    }

    @Test func `a cancelled task that sleeps in a loop lets others run`() async {
        let task = Task { @ControlPlane in
            var others = 0
            withUnsafeCurrentTask { $0?.cancel() }
            Task { @ControlPlane in others += 1 }
            for _ in 0..<1_000 where others == 0 { await ControlLoop.shared.sleep(for: .zero) }
            return others
        }
        #expect(await task.value == 1)
    }

    @Test func `a task that is cancelled before it sleeps does not sleep`() async {
        let task = Task { @ControlPlane in await loop.sleep(for: .seconds(60)) }
        task.cancel()
        await task.value
    }

    // MARK: Descriptors

    @Test func `several sources share a descriptor, each with its own interest`() async throws {
        let (left, right) = try socketPair()
        defer { closeAll(left, right) }
        let mailbox = Mailbox<String>()
        let reader = try loop.add(left, .readable) { mailbox.put("reader \($0.rawValue)") }
        let writer = try loop.add(left, .writable) { mailbox.put("writer \($0.rawValue)") }
        #expect(await mailbox.take().first == "writer 2")
        writer.update([])
        #expect(write(right, "x", 1) == 1)
        #expect(await mailbox.take().first == "reader 1")
        reader.cancel()
        writer.update(.writable)
        #expect(await mailbox.take().first == "writer 2")
        writer.cancel()
    }

    @Test func `a source without interest receives no hang-up, and does not keep the loop busy`() async throws {
        let (left, right) = try socketPair()
        defer { close(left) }
        let mailbox = Mailbox<Readiness>()
        let source = try loop.add(left, []) { mailbox.put($0) }
        close(right)
        let turns = Mailbox<Int>()
        loop.perform { loop.perform { loop.perform { turns.put(3) } } }
        _ = await turns.take()
        #expect(mailbox.elements.isEmpty)
        source.update(.readable)
        #expect(await mailbox.take().first?.contains([.readable, .hangup]) == true)
        source.cancel()
    }

    @Test func `a source for the hang-up alone is called when the other end closes, and not for data`() async throws {
        let (left, right) = try socketPair()
        defer { close(left) }
        let mailbox = Mailbox<Readiness>()
        let source = try loop.add(left, .hangup) { mailbox.put($0) }
        #expect(write(right, "x", 1) == 1)
        let turns = Mailbox<Int>()
        loop.perform { loop.perform { loop.perform { turns.put(3) } } }
        _ = await turns.take()
        #expect(mailbox.elements.isEmpty)
        close(right)
        #expect(await mailbox.take().first == .hangup)
        source.cancel()
    }

    @Test func `a source that another source's handler cancels is not called any more`() async throws {
        let (left, right) = try socketPair()
        defer { closeAll(left, right) }
        let mailbox = Mailbox<String>()
        var second: DescriptorSource?
        let first = try loop.add(left, .readable) { _ in
            mailbox.put("first")
            second?.cancel()
        }
        second = try loop.add(left, .readable) { _ in mailbox.put("second") }
        #expect(write(right, "x", 1) == 1)
        let calls = await mailbox.take()
        first.cancel()
        #expect(!calls.contains("second"))
    }

    @Test func `a descriptor closed before its source is cancelled does not affect the next one with its number`()
        async throws
    {
        let (left, right) = try socketPair()
        let old = Mailbox<Readiness>()
        let oldSource = try loop.add(left, .readable) { old.put($0) }
        let (newLeft, newRight) = try socketPair()
        // The old file is closed and its number given to another one, at once.
        #expect(dup2(newLeft, left) == left)
        defer { closeAll(left, right, newLeft, newRight) }
        let mailbox = Mailbox<Readiness>()
        let source = try loop.add(left, .readable) { mailbox.put($0) }
        oldSource.cancel()
        #expect(write(newRight, "x", 1) == 1)
        #expect(await mailbox.take().first == .readable)
        source.cancel()
        #expect(old.elements.isEmpty)
    }

    @Test func `an unwatchable descriptor is refused with call and errno`() throws {
        let file = open("/etc/passwd", O_RDONLY)
        defer { close(file) }
        #expect(throws: SystemError(call: "epoll_ctl", code: EPERM)) { try loop.add(file, .readable) { _ in } }
        #expect(throws: SystemError(call: "epoll_ctl", code: EBADF)) { try loop.add(-1, .readable) { _ in } }
    }

    // MARK: Signals

    @Test func `a signal arrives through the loop, at every handler`() async throws {
        let mailbox = Mailbox<String>()
        let first = try loop.onSignal(SIGURG) { mailbox.put("first") }
        let second = try loop.onSignal(SIGURG) { mailbox.put("second") }
        pthread_kill(pthread_self(), SIGURG)
        #expect(await mailbox.take(2) == ["first", "second"])
        first.cancel()
        pthread_kill(pthread_self(), SIGURG)
        #expect(await mailbox.take() == ["second"])
        second.cancel()
        #expect(throws: SystemError(call: "sigaddset", code: EINVAL)) { try loop.onSignal(4711) {} }
    }
}

func closeAll(_ descriptors: Int32...) {
    for descriptor in descriptors { close(descriptor) }
}

func socketPair(_ type: __socket_type = SOCK_STREAM) throws -> (Int32, Int32) {
    var pair: [Int32] = [0, 0]
    _ = try SystemError.check("socketpair") { socketpair(AF_UNIX, Int32(type.rawValue), 0, &pair) }
    return (pair[0], pair[1])
}
