import Glibc
public import Synchronization

/// Bounded lock-free queue of messages from one thread to one other: commands to the real-time thread, events back.
///
/// It is generic, so `@_noLocks` is checked as for ``Slots``: in each function that uses it.
public struct MessageQueue<Message: BitwiseCopyable>: ~Copyable, @unchecked Sendable {
    @usableFromInline let storage: UnsafeMutablePointer<Message>
    @usableFromInline let mask: Int
    /// Total messages taken and put; each is written by one side only.
    @usableFromInline let taken = Atomic<Int>(0)
    @usableFromInline let put = Atomic<Int>(0)

    /// - Parameter capacity: rounded up to a power of two.
    public init(capacity: Int) {
        var size = 1
        while size < capacity { size *= 2 }
        mask = size - 1
        storage = UnsafeMutablePointer<Message>.allocate(capacity: size)
        // Unwritten places are never read; this populates the pages before the thread starts.
        memset(storage, 0, size * MemoryLayout<Message>.stride)
    }

    deinit { storage.deallocate() }

    /// Producer only: appends a message; false when the queue is full.
    @inlinable
    public func push(_ message: Message) -> Bool {
        let position = put.load(ordering: .relaxed)
        if position &- taken.load(ordering: .acquiring) > mask { return false }
        storage[position & mask] = message
        put.store(position &+ 1, ordering: .releasing)
        return true
    }

    /// Producer only: how many more messages fit.
    @inlinable
    public func free() -> Int {
        mask &+ 1 &- (put.load(ordering: .relaxed) &- taken.load(ordering: .acquiring))
    }

    /// Consumer only: takes the oldest message; nil when the queue is empty.
    @inlinable
    public func pop() -> Message? {
        let position = taken.load(ordering: .relaxed)
        if position == put.load(ordering: .acquiring) { return nil }
        let message = storage[position & mask]
        taken.store(position &+ 1, ordering: .releasing)
        return message
    }
}
