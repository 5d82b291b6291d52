import Synchronization

/// A bounded queue of messages from one thread to one other, without locks. There are two: commands to the real-time
/// thread, events back.
struct MessageQueue: ~Copyable, @unchecked Sendable {
    private let storage: UnsafeMutablePointer<Message>
    private let mask: Int
    /// Messages ever taken and ever put; each is written by one side only.
    private let taken = Atomic<Int>(0)
    private let put = Atomic<Int>(0)

    /// - Parameter capacity: rounded up to a power of two.
    init(capacity: Int) {
        var size = 1
        while size < capacity { size *= 2 }
        mask = size - 1
        storage = UnsafeMutablePointer<Message>.allocate(capacity: size)
        storage.initialize(repeating: Message(.none, id: 0), count: size)
    }

    deinit { storage.deallocate() }

    /// Producer only. False when the queue is full.
    @_noLocks
    func push(_ message: Message) -> Bool {
        let position = put.load(ordering: .relaxed)
        if position &- taken.load(ordering: .acquiring) > mask { return false }
        storage[position & mask] = message
        put.store(position &+ 1, ordering: .releasing)
        return true
    }

    /// Producer only: how many more messages fit.
    @_noLocks
    func free() -> Int {
        mask &+ 1 &- (put.load(ordering: .relaxed) &- taken.load(ordering: .acquiring))
    }

    /// Consumer only. Replaces `message` by the oldest one; false when there is none.
    @_noLocks
    func pop(into message: inout Message) -> Bool {
        let position = taken.load(ordering: .relaxed)
        if position == put.load(ordering: .acquiring) { return false }
        message = storage[position & mask]
        taken.store(position &+ 1, ordering: .releasing)
        return true
    }
}
