import CBTCall
import Foundation
import TestSupport

@testable import FrameRings

extension FrameLayout {
    static func small(_ width: Int = 64, _ height: Int = 48) throws -> FrameLayout {
        try FrameLayout(width: width, height: height, framesPerSecond: 30)
    }
}

/// Frames whose bytes all depend on their number, so that a mixture of two is noticed.
struct TestFrames {
    let layout: FrameLayout

    func bytes(_ number: UInt64) -> [UInt8] {
        [UInt8](repeating: Self.value(number), count: layout.frameBytes)
    }

    /// Neighbours in one slot differ.
    static func value(_ number: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: number &* 31) }

    func isWhole(_ frame: Frame) -> Bool {
        let expected = bytes(frame.head.number)
        return frame.bytes.count == expected.count && memcmp(frame.bytes, expected, expected.count) == 0
    }
}

/// A writer that tests can pass around.
final class TestWriter {
    private var ring: FrameRingWriter

    init(_ layout: FrameLayout) throws { ring = try FrameRingWriter(layout) }
    init(descriptor: Int32) throws { ring = try FrameRingWriter(descriptor: descriptor) }

    var layout: FrameLayout { ring.layout }
    func takeReaderDescriptor() -> Int32 { ring.takeReaderDescriptor() }
    func end() { ring.end() }

    func write(_ bytes: [UInt8], at nanoseconds: UInt64 = 0, isCard: Bool = false) -> Bool {
        bytes.withUnsafeBytes { ring.write($0, at: nanoseconds, isCard: isCard) }
    }
}

extension RingConsumer {
    func take(_ bytes: [UInt8], at nanoseconds: UInt64 = 0, isCard: Bool = false) {
        bytes.withUnsafeBytes { take($0, at: nanoseconds, isCard: isCard) }
    }
}

/// Shared memory that a test fills as it likes.
final class ForgedRing {
    let descriptor: Int32
    let bytes: Int

    init(_ layout: FrameLayout) {
        bytes = layout.memoryBytes
        descriptor = btcall_sealed_memory("btcall-frames", bytes)
        put(layout.header, at: 0)
    }

    deinit { close(descriptor) }

    func put(_ content: [UInt8], at place: Int) { _ = pwrite(descriptor, content, content.count, off_t(place)) }

    func put(_ number: UInt64, bytes count: Int, at place: Int) {
        put((0..<count).map { UInt8(truncatingIfNeeded: number >> UInt64(8 * $0)) }, at: place)
    }

    /// Says that this frame is complete.
    func announce(_ number: UInt64, in layout: FrameLayout) {
        put(number, bytes: 8, at: FrameLayout.Place.written)
        put(2 &* number, bytes: 8, at: layout.slot(of: number))
    }
}
