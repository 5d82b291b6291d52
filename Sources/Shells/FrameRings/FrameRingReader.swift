package import ControlLoop

/// What a slot says about its frame.
package struct FrameHead: Hashable, Sendable {
    /// Number of the frame in its ring, from 1.
    package let number: UInt64
    /// CLOCK_MONOTONIC, by the writer's word.
    package let nanoseconds: UInt64
    /// Whether it is a card instead of the camera's picture, by the writer's word.
    package let isCard: Bool
}

/// A copy of one frame.
package struct Frame: Sendable {
    package let head: FrameHead
    /// I420 without padding: `FrameLayout.frameBytes` bytes.
    package let bytes: [UInt8]
}

/// Reads a ring that another program writes, and does not trust it: what that program writes costs at most its own pictures.
///
/// Any thread may read, and several may at once.
package final class FrameRingReader: Sendable {
    package var layout: FrameLayout { memory.layout }
    private let memory: FrameMemory
    /// Times that a frame is tried that a fast writer overtakes.
    private static let attempts = 4

    /// Maps a ring that somebody else has made.
    ///
    /// - Parameter descriptor: stays the caller's.
    package init(descriptor: Int32) throws(FrameRingError) {
        memory = try FrameMemory(descriptor: descriptor, isWritable: false)
    }

    private init(_ memory: FrameMemory) { self.memory = memory }

    /// Makes a ring that another program is to write.
    ///
    /// - Returns: with the descriptor for that program, which is the caller's.
    /// - Throws: also if only the reserve of descriptors is left.
    package static func make(
        _ layout: FrameLayout
    ) throws(SystemError) -> (reader: FrameRingReader, writerDescriptor: Int32) {
        let (memory, descriptor) = try FrameMemory.forWriter(layout)
        try FrameDescriptors.check([descriptor])
        return (FrameRingReader(memory), descriptor)
    }

    /// Whether the writer has said that no frame will come.
    package var isEnded: Bool { memory.isEnded }

    /// Copies the newest frame.
    ///
    /// - Parameters:
    ///   - number: only a later frame than this one is copied.
    ///   - room: at least `layout.frameBytes` bytes; they are a frame only if the result is not nil.
    /// - Returns: nil without a later frame, and if the writer overtakes each attempt.
    package func copyLatest(after number: UInt64, into room: UnsafeMutableRawBufferPointer) -> FrameHead? {
        guard room.count >= layout.frameBytes else { return nil }
        for _ in 0..<Self.attempts {
            let newest = memory.written
            guard newest > number else { return nil }
            if let head = memory.read(newest, into: room) { return head }
        }
        return nil
    }

    /// The newest frame, if it is later than frame `number`; otherwise as ``copyLatest(after:into:)``.
    package func latest(after number: UInt64 = 0) -> Frame? {
        var head: FrameHead?
        let bytes = [UInt8](unsafeUninitializedCapacity: layout.frameBytes) { room, count in
            head = copyLatest(after: number, into: UnsafeMutableRawBufferPointer(room))
            count = head == nil ? 0 : layout.frameBytes
        }
        return head.map { Frame(head: $0, bytes: bytes) }
    }
}
