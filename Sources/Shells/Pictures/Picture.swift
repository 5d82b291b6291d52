import CPictures
import Glibc

/// A picture: I420 without padding. Nobody changes it, so any thread may hold and read it.
package final class Picture: Sendable {
    nonisolated(unsafe) let handle: OpaquePointer

    /// Takes over a reference.
    init(taking handle: OpaquePointer) {
        self.handle = handle
    }

    /// Copies a picture.
    ///
    /// - Returns: nil if `bytes` do not have its size, or without memory.
    package convenience init?(copying bytes: UnsafeRawBufferPointer, width: Int, height: Int) {
        guard let base = bytes.baseAddress,
            let handle = btcall_picture_copy(base, bytes.count, UInt32(clamping: width), UInt32(clamping: height))
        else { return nil }
        self.init(taking: handle)
    }

    /// A picture of one colour.
    package convenience init?(luma: UInt8, blue: UInt8, red: UInt8, width: Int, height: Int) {
        let (all, chroma) = (width * height, (width + 1) / 2 * ((height + 1) / 2))
        var bytes = [UInt8](repeating: luma, count: all)
        bytes += [UInt8](repeating: blue, count: chroma) + [UInt8](repeating: red, count: chroma)
        guard let copy = bytes.withUnsafeBytes({ Picture(copying: $0, width: width, height: height) }) else {
            return nil
        }
        self.init(taking: btcall_picture_retain(copy.handle))
    }

    deinit { btcall_picture_release(handle) }

    package var width: Int { Int(btcall_picture_width(handle)) }
    package var height: Int { Int(btcall_picture_height(handle)) }

    package func withBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(UnsafeRawBufferPointer(start: btcall_picture_bytes(handle), count: btcall_picture_length(handle)))
    }

    /// This picture where the mask is bright, and the other one elsewhere.
    ///
    /// - Returns: nil if their sizes differ, or without memory.
    func inFront(of behind: Picture, by mask: Picture) -> Picture? {
        btcall_picture_blend(handle, mask.handle, behind.handle).map { Picture(taking: $0) }
    }

    /// - Returns: nil without memory.
    func blurred() -> Picture? { btcall_picture_blur(handle).map { Picture(taking: $0) } }

    /// CLOCK_MONOTONIC in nanoseconds.
    package static var now: UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(clamping: time.tv_sec) * 1_000_000_000 + UInt64(clamping: time.tv_nsec)
    }
}

/// Somebody who gets every picture without a copy.
protocol PictureTaker: AnyObject, Sendable {
    /// Takes a picture. Called on any thread; does not wait for anybody.
    func take(_ picture: Picture)
}
