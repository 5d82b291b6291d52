/// Pixel format of a camera: a four-character code (`linux/videodev2.h`).
package struct PixelFormat: Hashable, Sendable, CustomStringConvertible {
    /// The first character is the lowest byte; the highest bit means big endian.
    package let code: UInt32

    package init(code: UInt32) {
        self.code = code
    }

    /// - Parameter text: one to four printable characters of ASCII; shorter texts are filled with spaces.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...4).contains(bytes.count), bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return nil }
        var code: UInt32 = 0
        for index in (0..<4).reversed() { code = code << 8 | UInt32(index < bytes.count ? bytes[index] : 0x20) }
        self.code = code
    }

    /// `MJPG`, or a number in hexadecimal digits if a character is not printable.
    package var description: String {
        let isBigEndian = code & 0x8000_0000 != 0
        let bytes = (0..<4).map { UInt8(truncatingIfNeeded: (code & 0x7FFF_FFFF) >> UInt32($0 * 8)) }
        guard bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else { return "0x" + String(code, radix: 16) }
        let text = String(decoding: bytes, as: UTF8.self)
        return String(text.reversed().drop { $0 == " " }.reversed()) + (isBigEndian ? "-BE" : "")
    }

    /// Place in the order of preference, from 0; nil for a format that is no picture of its own: H.264, raw sensor data.
    ///
    /// Formats without compression come first, and of them those with fewer bytes for a pixel.
    package var rank: Int? { Self.preference.firstIndex(of: description) }

    /// The formats that are understood.
    package static let preference = [
        "NV12", "NM12", "NV21", "NM21", "YU12", "YM12", "YV12", "YUYV", "UYVY", "YVYU", "VYUY", "NV16", "NV61", "RGB3",
        "BGR3", "RGBP", "XR24", "AR24", "BX24", "BA24", "GREY", "MJPG", "JPEG",
    ]
}
