import ControlLoop
import DBus
import Diagnostics
import Glibc
import TestSupport
import Testing

/// Lines sent to a program that reads the log.
@Suite @ControlPlane struct LogReaderTests {
    /// A pair of sockets that pass packets on one by one without blocking.
    private func makePair() throws -> (ours: Int32, theirs: Int32) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_SEQPACKET.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
        return (ends[0], ends[1])
    }

    /// The next line in a socket; nil without one.
    private func line(from descriptor: Int32) -> LogLine? {
        var bytes = [UInt8](repeating: 0, count: LogLine.longestPacket)
        let count = bytes.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
        return count > 0 ? LogLine(packet: bytes.prefix(count)) : nil
    }

    @Test func `A slow reader loses the oldest lines, and is sent their number`() async throws {
        let (ours, theirs) = try makePair()
        let program = PassedDescriptor(taking: theirs)
        let reader = LogReader(taking: ours)
        var ends = 0
        try reader.start { _ in ends += 1 }
        let count = 3000
        for number in 0..<count {
            reader.deliver(LogLine(level: "info", module: "test", message: "\(number)", context: ["a": "b=c"]))
        }
        var numbers: [Int] = []
        var lost: [Int] = []
        try await eventually("the last line is here") {
            while let line = line(from: theirs) {
                if line.module == "btcall.log" {
                    #expect(line.level == "warning")
                    lost.append(line.context["lost"].flatMap { Int($0) } ?? 0)
                } else {
                    #expect(line.context == ["a": "b=c"] && line.level == "info")
                    numbers.append(Int(line.message) ?? -1)
                }
            }
            return numbers.last == count - 1
        }
        #expect(lost.count == 1)
        #expect(numbers.count + lost.reduce(0, +) == count)
        #expect(numbers == numbers.sorted() && numbers.first == 0)
        #expect(Array(numbers.suffix(LogReader.mostWaiting)) == Array(count - LogReader.mostWaiting..<count))
        // From here on it reads in time again.
        reader.deliver(LogLine(level: "info", module: "test", message: "again"))
        #expect(line(from: theirs)?.message == "again")
        close(program.take())
        try await eventually("the end is seen") { ends == 1 }
        reader.deliver(LogLine(level: "info", module: "test", message: "nobody"))
    }

    @Test func `a reader that reads nothing costs a bounded number of bytes`() throws {
        let (ours, theirs) = try makePair()
        let program = PassedDescriptor(taking: theirs)
        let reader = LogReader(taking: ours)
        try reader.start { _ in }
        let text = String(repeating: "x", count: LogLine.longestText)
        let context = Dictionary(uniqueKeysWithValues: (10..<10 + LogLine.mostValues).map { ("\($0)", text) })
        let line = LogLine(level: "info", module: "test", message: text, context: context)
        #expect(line.packet.count < LogReader.mostBytes)
        for _ in 0..<100 { reader.deliver(line) }
        #expect(reader.waitingBytes <= LogReader.mostBytes && reader.waitingBytes > LogReader.mostBytes / 3)
        reader.close()
        #expect(reader.waitingBytes == 0)
        withExtendedLifetime(program) {}
    }
}
