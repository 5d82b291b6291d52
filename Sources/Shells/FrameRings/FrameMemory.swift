import CBTCall
import ControlLoop
import Glibc
import Synchronization

/// A mapped ring.
///
/// Another program may change its contents at any moment: positions come from the layout only, which was checked and copied.
final class FrameMemory: @unchecked Sendable {
    let layout: FrameLayout
    private let start: UnsafeMutableRawPointer

    /// - Parameter start: a mapping of all of the layout's bytes, which this object ends.
    private init(_ layout: FrameLayout, _ start: UnsafeMutableRawPointer) {
        self.layout = layout
        self.start = start
    }

    deinit { munmap(start, layout.memoryBytes) }

    /// New memory for one reader or more.
    ///
    /// - Returns: its descriptor for reading is the caller's.
    static func forReaders(_ layout: FrameLayout) throws(SystemError) -> (memory: FrameMemory, descriptor: Int32) {
        var start: UnsafeMutableRawPointer?
        let descriptor = btcall_memory_for_readers("btcall-frames", layout.memoryBytes, &start)
        guard descriptor >= 0, let start else { throw SystemError("memfd_create") }
        let memory = FrameMemory(layout, start)
        start.copyMemory(from: layout.header, byteCount: FrameLayout.headerBytes)
        return (memory, descriptor)
    }

    /// New memory for a writer. It is mapped for reading only, and its header is not read.
    ///
    /// - Returns: its descriptor for writing is the caller's.
    static func forWriter(_ layout: FrameLayout) throws(SystemError) -> (memory: FrameMemory, descriptor: Int32) {
        let descriptor = btcall_sealed_memory("btcall-frames", layout.memoryBytes)
        guard descriptor >= 0 else { throw SystemError("memfd_create") }
        do throws(SystemError) {
            let header = layout.header
            guard header.withUnsafeBytes({ pwrite(descriptor, $0.baseAddress, $0.count, 0) }) == header.count else {
                throw SystemError("pwrite")
            }
            return (FrameMemory(layout, try map(descriptor, layout.memoryBytes, PROT_READ)), descriptor)
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Memory that somebody else has made.
    ///
    /// - Parameter descriptor: stays the caller's.
    init(descriptor: Int32, isWritable: Bool) throws(FrameRingError) {
        var size = 0
        guard btcall_size_if_sealed(descriptor, &size) == 0 else {
            let error = SystemError("fcntl")
            throw error.code == EPERM ? .invalid("it is no memory of a fixed size") : .failed(error)
        }
        var header = [UInt8](repeating: 0, count: FrameLayout.headerBytes)
        let count = header.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
        guard count >= 0 else { throw .failed(SystemError("pread")) }
        guard count == header.count else { throw .invalid("it has \(count) bytes") }
        layout = try FrameLayout(header: header, limit: size)
        do throws(SystemError) {
            start = try Self.map(descriptor, layout.memoryBytes, isWritable ? PROT_READ | PROT_WRITE : PROT_READ)
        } catch {
            throw .failed(error)
        }
    }

    private static func map(
        _ descriptor: Int32, _ bytes: Int, _ protection: Int32
    ) throws(SystemError) -> UnsafeMutableRawPointer {
        guard let start = mmap(nil, bytes, protection, MAP_SHARED, descriptor, 0), start != MAP_FAILED else {
            throw SystemError("mmap")
        }
        return start
    }

    // MARK: Numbers that both sides see

    private func number64(_ place: Int) -> UnsafeMutablePointer<Atomic<UInt64>> {
        (start + place).assumingMemoryBound(to: Atomic<UInt64>.self)
    }

    private func number32(_ place: Int) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (start + place).assumingMemoryBound(to: Atomic<UInt32>.self)
    }

    /// Frames ever written.
    var written: UInt64 { number64(FrameLayout.Place.written).pointee.load(ordering: .acquiring).littleEndian }

    var isEnded: Bool { number32(FrameLayout.Place.ended).pointee.load(ordering: .acquiring) != 0 }

    func end() { number32(FrameLayout.Place.ended).pointee.store(UInt32(1).littleEndian, ordering: .releasing) }

    // MARK: Slots

    /// Places in the head of a slot, in bytes.
    private enum Head {
        static let sequence = 0
        static let nanoseconds = 8
        /// 32 bits.
        static let flags = 16
        static let cardFlag: UInt32 = 1
    }

    /// Writes a frame of `layout.frameBytes` bytes. One thread at a time calls this.
    ///
    /// - Parameter number: one more than for the last call, from 1.
    func write(_ number: UInt64, _ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        let slot = layout.slot(of: number)
        let sequence = number64(slot + Head.sequence)
        sequence.pointee.store((2 &* number &- 1).littleEndian, ordering: .relaxed)
        // A reader that sees a byte of the new picture also sees the odd sequence.
        atomicMemoryFence(ordering: .releasing)
        (start + slot).storeBytes(of: nanoseconds.littleEndian, toByteOffset: Head.nanoseconds, as: UInt64.self)
        (start + slot).storeBytes(
            of: (isCard ? Head.cardFlag : 0).littleEndian, toByteOffset: Head.flags, as: UInt32.self)
        copy(bytes, toSlot: slot)
        sequence.pointee.store((2 &* number).littleEndian, ordering: .releasing)
        number64(FrameLayout.Place.written).pointee.store(number.littleEndian, ordering: .releasing)
    }

    /// Copies a frame, if it is whole: its slot's sequence is the frame's before and after.
    ///
    /// - Parameter room: at least `layout.frameBytes` bytes; not a frame when the result is nil.
    func read(_ number: UInt64, into room: UnsafeMutableRawBufferPointer) -> FrameHead? {
        let slot = layout.slot(of: number)
        let sequence = number64(slot + Head.sequence)
        let expected = 2 &* number
        guard sequence.pointee.load(ordering: .acquiring).littleEndian == expected else { return nil }
        let nanoseconds = (start + slot).load(fromByteOffset: Head.nanoseconds, as: UInt64.self).littleEndian
        let flags = (start + slot).load(fromByteOffset: Head.flags, as: UInt32.self).littleEndian
        copy(fromSlot: slot, to: room)
        // The bytes above are read before the sequence below.
        atomicMemoryFence(ordering: .acquiring)
        guard sequence.pointee.load(ordering: .relaxed).littleEndian == expected else { return nil }
        return FrameHead(number: number, nanoseconds: nanoseconds, isCard: flags & Head.cardFlag != 0)
    }

    private func copy(_ bytes: UnsafeRawBufferPointer, toSlot slot: Int) {
        guard let source = bytes.baseAddress else { return }
        if layout.isPacked {
            (start + slot + layout.luma.offset).copyMemory(from: source, byteCount: layout.frameBytes)
            return
        }
        eachRow { place, row, count in (start + slot + place).copyMemory(from: source + row, byteCount: count) }
    }

    private func copy(fromSlot slot: Int, to room: UnsafeMutableRawBufferPointer) {
        guard let target = room.baseAddress else { return }
        if layout.isPacked {
            target.copyMemory(from: start + slot + layout.luma.offset, byteCount: layout.frameBytes)
            return
        }
        eachRow { place, row, count in (target + row).copyMemory(from: start + slot + place, byteCount: count) }
    }

    /// - Parameter body: called with a row's place in the slot, its place in a frame without padding, and its bytes.
    private func eachRow(_ body: (_ place: Int, _ row: Int, _ count: Int) -> Void) {
        var row = 0
        for plane in [layout.luma, layout.blue, layout.red] {
            for index in 0..<plane.height {
                body(plane.offset + index * plane.stride, row, plane.width)
                row += plane.width
            }
        }
    }
}
