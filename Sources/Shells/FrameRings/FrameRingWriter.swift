import CBTCall
package import ControlLoop
import Glibc

/// Writes a ring of frames. It never waits for a reader, and reads nothing back from the memory.
package struct FrameRingWriter: ~Copyable, Sendable {
    package let layout: FrameLayout
    private let memory: FrameMemory
    /// For readers; -1 once taken, and for a ring that somebody else has made.
    private var descriptor: Int32
    /// Frames written so far.
    private var count: UInt64 = 0
    /// Whether ``end()`` was called.
    package private(set) var isEnded = false

    /// Makes a ring.
    ///
    /// - Throws: also if only the reserve of descriptors is left.
    package init(_ layout: FrameLayout) throws(SystemError) {
        let made = try FrameMemory.forReaders(layout)
        try FrameDescriptors.check([made.descriptor])
        self.layout = layout
        (memory, descriptor) = made
    }

    /// Maps a ring that somebody else has made for this program to write.
    ///
    /// - Parameter descriptor: stays the caller's.
    package init(descriptor: Int32) throws(FrameRingError) {
        memory = try FrameMemory(descriptor: descriptor, isWritable: true)
        layout = memory.layout
        self.descriptor = -1
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The descriptor for readers, which can only be read; it is the caller's. -1 the second time.
    package mutating func takeReaderDescriptor() -> Int32 {
        defer { descriptor = -1 }
        return descriptor
    }

    /// Writes the next frame.
    ///
    /// - Parameters:
    ///   - bytes: I420 without padding, `layout.frameBytes` bytes.
    ///   - nanoseconds: CLOCK_MONOTONIC of the picture.
    ///   - isCard: a card instead of the camera's picture.
    /// - Returns: false, and nothing is written, for another number of bytes and after the end.
    package mutating func write(
        _ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool = false
    ) -> Bool {
        guard bytes.count == layout.frameBytes, !isEnded else { return false }
        count += 1
        memory.write(count, bytes, at: nanoseconds, isCard: isCard)
        return true
    }

    /// Says that no frame will come.
    package mutating func end() {
        guard !isEnded else { return }
        isEnded = true
        memory.end()
    }
}

enum FrameDescriptors {
    /// Closes descriptors for a client that take the last free ones.
    ///
    /// - Throws: `EMFILE` then.
    static func check(_ descriptors: [Int32]) throws(SystemError) {
        do throws(SystemError) {
            try DescriptorReserve.check(descriptors)
        } catch {
            for descriptor in descriptors { close(descriptor) }
            throw error
        }
    }
}
