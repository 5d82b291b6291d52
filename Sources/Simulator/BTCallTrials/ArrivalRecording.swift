/// Recorded arrivals of voice links: a capture of `btmon -w`, or a line for each packet.
package struct ArrivalRecording: Equatable, Sendable {
    package enum Malformed: Error, Equatable, CustomStringConvertible {
        case line(Int)
        case noPackets

        package var description: String {
            switch self {
            case .line(let number):
                "line \(number) is not SECONDS or SECONDS STATUS, as in \"12.0075 0\", in the order of time"
            case .noPackets: "there is no voice packet in it: record a call with `btmon -w FILE`"
            }
        }
    }

    /// Microseconds. A longer pause between two packets of a controller's handle is the end of a call.
    private static let longestPause = 2_000_000

    /// Each link's arrivals, in the order of their times. Times begin with the link's first packet.
    package private(set) var links: [[Arrival]] = []

    /// - Parameter bytes: of a file. What follows a record that is cut off is ignored.
    package init(_ bytes: [UInt8]) throws(Malformed) {
        let isCapture = bytes.starts(with: Array("btsnoop\0".utf8))
        let packets = try isCapture ? Self.captured(bytes) : Self.listed(bytes)
        if packets.isEmpty { throw .noPackets }
        // The present link of each handle.
        var present: [Int: Int] = [:]
        var spans: [(start: Int, end: Int)] = []
        for packet in packets {
            var link = present[packet.handle] ?? links.count
            if link < links.count, !(0...Self.longestPause).contains(packet.time - spans[link].end) {
                link = links.count
            }
            if link == links.count {
                present[packet.handle] = link
                links.append([])
                spans.append((start: packet.time, end: packet.time))
            }
            spans[link].end = packet.time
            let time = Int64(packet.time - spans[link].start) * 1_000
            links[link].append(Arrival(time: time, status: packet.status))
        }
    }

    private struct Packet {
        /// Of the controller and its link.
        let handle: Int
        /// Microseconds, not negative.
        let time: Int
        let status: Int32
    }

    // MARK: Text

    /// Lines `SECONDS [STATUS]`; empty ones and text after `#` are ignored.
    private static func listed(_ bytes: [UInt8]) throws(Malformed) -> [Packet] {
        var packets: [Packet] = []
        var last = 0.0
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            let text = String(decoding: line.prefix { $0 != UInt8(ascii: "#") }, as: UTF8.self)
            let words = text.split { $0 == " " || $0 == "\t" || $0 == "\r" }
            if words.isEmpty { continue }
            guard words.count <= 2, let seconds = Double(words[0]), seconds >= last, seconds < 1e10,
                let status = words.count == 1 ? 0 : UInt8(words[1])
            else { throw .line(number) }
            last = seconds
            packets.append(Packet(handle: 0, time: Int((seconds * 1e6).rounded()), status: Int32(status)))
        }
        return packets
    }

    // MARK: btsnoop

    /// Header of a file, and of a record.
    private static let fileHeader = 16
    private static let recordHeader = 24
    /// Kinds of captures: HCI packets with their type in the first byte, and those of the kernel's monitor.
    private static let typedPackets = 1_002
    private static let monitor = 2_001
    /// Type of a voice packet, and the monitor's number of a received one.
    private static let voicePacket: UInt8 = 3
    private static let voiceReceived = 7

    /// Voice packets from the controller.
    private static func captured(_ bytes: [UInt8]) -> [Packet] {
        guard bytes.count >= fileHeader else { return [] }
        let kind = number(bytes, at: 12, bytes: 4)
        var packets: [Packet] = []
        var start = fileHeader
        while start + recordHeader <= bytes.count {
            let length = number(bytes, at: start + 4, bytes: 4)
            let flags = number(bytes, at: start + 8, bytes: 4)
            let microseconds = number(bytes, at: start + 16, bytes: 8)
            let data = start + recordHeader
            guard length <= bytes.count - data else { break }
            start = data + length
            let content = bytes[data..<start]
            var packet: Packet?
            if kind == monitor, flags & 0xFFFF == voiceReceived {
                packet = voice(content, controller: flags >> 16, microseconds)
            } else if kind == typedPackets, flags & 1 == 1, content.first == voicePacket {
                packet = voice(content.dropFirst(), controller: 0, microseconds)
            }
            if let packet { packets.append(packet) }
        }
        return packets
    }

    /// Handle and status (Bluetooth Core, Vol 4 Part E §5.4.3): 12 and 2 bits, little-endian.
    private static func voice(_ content: ArraySlice<UInt8>, controller: Int, _ microseconds: Int) -> Packet? {
        guard content.count >= 3 else { return nil }
        let word = Int(content[content.startIndex]) | Int(content[content.startIndex + 1]) << 8
        let status = Int32(word >> 12 & 3)
        return Packet(handle: controller << 12 | word & 0x0FFF, time: microseconds, status: status)
    }

    /// A big-endian number; the sign bit of eight bytes is dropped.
    private static func number(_ bytes: [UInt8], at index: Int, bytes count: Int) -> Int {
        bytes[index..<(index + count)].reduce(0) { ($0 & 0x007F_FFFF_FFFF_FFFF) << 8 | Int($1) }
    }
}
