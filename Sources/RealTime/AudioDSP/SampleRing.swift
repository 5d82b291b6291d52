import CBTCall
import Synchronization

/// Queue of audio between one writing and one reading thread (or within one thread): signed 16 bit, mono.
///
/// `write` belongs to the writing thread; `read`, `peek` and `discard` to the reading one; the counts to both. Nothing
/// waits: writes beyond the free space and reads beyond the content are cut short.
package struct SampleRing: ~Copyable, @unchecked Sendable {
    /// Maximum frames.
    package let capacity: Int
    private let storage: UnsafeMutablePointer<Int16>
    /// The storage is a power of two long, so that positions only ever grow.
    private let mask: Int
    private let written = Atomic<Int>(0)
    private let taken = Atomic<Int>(0)

    /// - Parameter capacity: frames, at least 1.
    package init(capacity: Int) {
        precondition(capacity > 0, "a ring holds at least one frame")
        var size = 1
        while size < capacity { size *= 2 }
        self.capacity = capacity
        mask = size - 1
        storage = UnsafeMutablePointer<Int16>.allocate(capacity: size)
        storage.initialize(repeating: 0, count: size)
    }

    deinit { storage.deallocate() }

    /// Frames that can be read.
    package var available: Int {
        @_noLocks get { written.load(ordering: .acquiring) &- taken.load(ordering: .acquiring) }
    }

    /// Frames that can be written.
    package var free: Int {
        @_noLocks get { capacity &- available }
    }

    /// Appends up to `count` frames; returns the number appended.
    @_noLocks
    package func write(_ samples: UnsafePointer<Int16>, _ count: Int) -> Int {
        let end = written.load(ordering: .relaxed)
        let room = capacity &- (end &- taken.load(ordering: .acquiring))
        let frames = count < room ? count : room
        if frames <= 0 { return frames }
        // Two moves of C, which the thread sanitizer sees, other than pointer.update(from:).
        let first = beforeWrap(end, frames)
        btcall_move(storage + (end & mask), samples, 2 &* first)
        if first < frames { btcall_move(storage, samples + first, 2 &* (frames &- first)) }
        written.store(end &+ frames, ordering: .releasing)
        return frames
    }

    /// How many of `frames` frames from a position on lie before the end of the storage.
    @_noLocks
    private func beforeWrap(_ position: Int, _ frames: Int) -> Int {
        let left = mask &+ 1 &- (position & mask)
        return frames < left ? frames : left
    }

    /// Appends up to `count` frames of digital silence; returns the number appended.
    @_noLocks
    package func write(silence count: Int) -> Int {
        let end = written.load(ordering: .relaxed)
        let room = capacity &- (end &- taken.load(ordering: .acquiring))
        let frames = count < room ? count : room
        var index = 0
        while index < frames {
            storage[(end &+ index) & mask] = 0
            index &+= 1
        }
        if frames > 0 { written.store(end &+ frames, ordering: .releasing) }
        return frames
    }

    /// Removes up to `count` of the oldest frames into a buffer; returns their number.
    @_noLocks
    package func read(_ samples: UnsafeMutablePointer<Int16>, _ count: Int) -> Int {
        let frames = peek(samples, count, offset: 0)
        return discard(frames)
    }

    /// Copies up to `count` frames, starting `offset` after the oldest, and leaves them in the ring; returns the number
    /// copied.
    @_noLocks
    package func peek(_ samples: UnsafeMutablePointer<Int16>, _ count: Int, offset: Int) -> Int {
        let start = taken.load(ordering: .relaxed)
        let there = written.load(ordering: .acquiring) &- start &- offset
        let frames = count < there ? count : there
        if offset < 0 || frames <= 0 { return 0 }
        let first = beforeWrap(start &+ offset, frames)
        btcall_move(samples, storage + ((start &+ offset) & mask), 2 &* first)
        if first < frames { btcall_move(samples + first, storage, 2 &* (frames &- first)) }
        return frames
    }

    /// Drops up to `count` of the oldest frames; returns their number.
    @_noLocks
    package func discard(_ count: Int) -> Int {
        let start = taken.load(ordering: .relaxed)
        let there = written.load(ordering: .acquiring) &- start
        let frames = count < there ? count : there
        if frames <= 0 { return 0 }
        taken.store(start &+ frames, ordering: .releasing)
        return frames
    }
}
