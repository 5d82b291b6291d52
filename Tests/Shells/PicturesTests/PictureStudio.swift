import ControlLoop
import Foundation
import FrameRings
import Glibc
import Pictures
import Synchronization
import TestSupport
import VideoCapture
import VideoPlan

/// A copy of a picture, to be looked at.
struct Shot: Sendable {
    let bytes: [UInt8]
    let width: Int
    let height: Int

    /// Luma and the two of chroma at a place, in fractions of the size.
    func colour(_ x: Double, _ y: Double) -> (luma: Int, blue: Int, red: Int) {
        let (column, row) = (Int(Double(width) * x), Int(Double(height) * y))
        let (luma, chroma) = (width * height, (width + 1) / 2 * ((height + 1) / 2))
        let place = row / 2 * ((width + 1) / 2) + column / 2
        return (
            Int(bytes[row * width + column]), Int(bytes[luma + place]), Int(bytes[luma + chroma + place])
        )
    }

    /// Whether a place has nearly a colour.
    func has(_ colour: (luma: Int, blue: Int, red: Int), at x: Double, _ y: Double, within distance: Int = 12) -> Bool {
        let found = self.colour(x, y)
        return abs(found.luma - colour.luma) <= distance && abs(found.blue - colour.blue) <= distance
            && abs(found.red - colour.red) <= distance
    }

    /// Difference of neighbours in a row, as a mean: the amount of detail.
    var detail: Double {
        var sum = 0
        for row in stride(from: 0, to: height, by: 4) {
            for column in 1..<width {
                sum += abs(Int(bytes[row * width + column]) - Int(bytes[row * width + column - 1]))
            }
        }
        return Double(sum) / Double(width * (height / 4))
    }

    /// Writes it as a PNG file to the folder that `BTCALL_PICTURES` names, for people.
    func keep(_ name: String) throws {
        guard let folder = ProcessInfo.processInfo.environment["BTCALL_PICTURES"] else { return }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Data(png).write(to: URL(filePath: folder).appending(path: "\(name).png"))
    }

    /// RGB without compression.
    private var png: [UInt8] {
        var rows: [UInt8] = []
        for row in 0..<height {
            rows.append(0)
            for column in 0..<width {
                let (luma, blue, red) = colour(
                    (Double(column) + 0.5) / Double(width), (Double(row) + 0.5) / Double(height))
                let (y, u, v) = (1.164 * Double(luma - 16), Double(blue - 128), Double(red - 128))
                for value in [y + 1.596 * v, y - 0.392 * u - 0.813 * v, y + 2.017 * u] {
                    rows.append(UInt8(min(max(value, 0), 255)))
                }
            }
        }
        return PNGText.file(rows, width: width, height: height)
    }
}

/// The chunks of a PNG file.
private enum PNGText {
    static func file(_ rows: [UInt8], width: Int, height: Int) -> [UInt8] {
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            + chunk("IHDR", big(width) + big(height) + [8, 2, 0, 0, 0]) + chunk("IDAT", stored(rows))
            + chunk("IEND", [])
    }

    private static func big(_ number: Int) -> [UInt8] {
        (0..<4).reversed().map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
    }

    private static func chunk(_ name: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(name.utf8) + data
        return big(data.count) + body + big(Int(check(body)))
    }

    /// zlib's format with stored blocks.
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var result: [UInt8] = [0x78, 0x01]
        var (first, second): (UInt32, UInt32) = (1, 0)
        for byte in bytes {
            first = (first + UInt32(byte)) % 65_521
            second = (second + first) % 65_521
        }
        for start in stride(from: 0, to: bytes.count, by: 65_535) {
            let end = min(start + 65_535, bytes.count)
            let length = UInt16(end - start)
            result += [end == bytes.count ? 1 : 0]
            result += [UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8)]
            result += bytes[start..<end]
        }
        return result + big(Int(second << 16 | first))
    }

    private static func check(_ bytes: [UInt8]) -> UInt32 {
        var value: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            value ^= UInt32(byte)
            for _ in 0..<8 { value = value & 1 == 1 ? value >> 1 ^ 0xEDB8_8320 : value >> 1 }
        }
        return ~value
    }
}

/// Keeps the newest picture, and counts.
final class Viewer: FrameConsumer {
    struct Seen {
        var cards = 0
        var pictures = 0
        var newest: [UInt8] = []
        var isCard = false
        var hasEnded = false
        /// Longest time between two pictures, and the time of the last one.
        var gap: UInt64 = 0
        var last: UInt64 = 0
    }

    private let state = Mutex(Seen())

    func take(_ bytes: UnsafeRawBufferPointer, at nanoseconds: UInt64, isCard: Bool) {
        let copy = Array(bytes)
        let now = Picture.now
        state.withLock { state in
            if state.last != 0 { state.gap = max(state.gap, now - state.last) }
            state.last = now
            if isCard { state.cards += 1 } else { state.pictures += 1 }
            (state.newest, state.isCard) = (copy, isCard)
        }
    }

    func end() { state.withLock { $0.hasEnded = true } }

    var seen: Seen { state.withLock { $0 } }

    func shot(_ format: PictureFormat) -> Shot {
        Shot(bytes: seen.newest, width: format.width, height: format.height)
    }
}

/// Pictures of colours that GStreamer's test source has.
enum Studio {
    static let width = 320
    static let height = 240
    static let format = PictureFormat(exactWidth: width, height: height, rateThousandths: 30_000)

    // videotestsrc's colours, as I420.
    static let red = (luma: 81, blue: 90, red: 240)
    static let green = (luma: 145, blue: 54, red: 34)
    static let blue = (luma: 41, blue: 240, red: 110)
    static let black = (luma: 16, blue: 128, red: 128)

    /// A camera's stand-in.
    ///
    /// - Parameter pattern: of `videotestsrc`.
    static func camera(_ pattern: String, _ format: PictureFormat = format) -> PipelinePlan {
        let source = "videotestsrc is-live=true pattern=\(pattern) ! \(format.caps)"
        return PipelinePlan("\(source) ! \(PipelinePlan.captured(format))")
    }

    /// A still room with a ball that moves through it.
    static func room(_ format: PictureFormat) -> PipelinePlan {
        let (width, height) = (format.width, format.height)
        return PipelinePlan(
            "compositor name=room background=black sink_0::zorder=1 sink_1::zorder=2 "
                + "sink_1::xpos=\(width / 4) sink_1::ypos=\(height / 4) ! \(format.caps) ! "
                + "\(PipelinePlan.captured(format)) "
                + "videotestsrc is-live=true pattern=smpte75 ! \(format.caps) ! room.sink_0 "
                + "videotestsrc is-live=true pattern=ball motion=sweep ! "
                + "video/x-raw,format=I420,width=\(width / 2),height=\(height / 2),framerate=30/1 ! room.sink_1")
    }

    /// Files of raw pictures that a display's pipeline writes instead.
    static func folder() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-pictures-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// A port of UDP that nobody has.
    static func freePort() throws -> Int {
        let descriptor = try SystemError.check("socket") {
            socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        try withUnsafeMutablePointer(to: &address) { pointer in
            try pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { name in
                _ = try SystemError.check("bind") { bind(descriptor, name, length) }
                _ = try SystemError.check("getsockname") { getsockname(descriptor, name, &length) }
            }
        }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    static func end(_ folder: URL) -> String {
        "video/x-raw,format=I420 ! multifilesink name=sink max-files=4 location=\(folder.path())/%08d.raw"
    }

    /// The newest complete picture in a folder; nil: none yet.
    static func newest(_ folder: URL, _ width: Int, _ height: Int) throws -> Shot? {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
        for name in names.reversed() {
            // It may be removed meanwhile.
            guard let data = try? Data(contentsOf: folder.appending(path: name)),
                data.count == width * height * 3 / 2
            else { continue }
            return Shot(bytes: Array(data), width: width, height: height)
        }
        return nil
    }
}
