import CBTCall
import Glibc
import Logging
import Testing

@testable import ControlLoop

struct ServiceNotifierTests {
    @Test(arguments: ["/tmp/btcall-notify-test-\(getpid())", "@btcall-notify-test-\(getpid())"])
    func `messages arrive at a path and at an abstract name`(name: String) throws {
        let socket = try DatagramSocket(name)
        let notifier = ServiceNotifier(socket: name, watchdogInterval: .seconds(1))
        notifier.ready()
        notifier.status("two\nlines")
        notifier.watchdog()
        notifier.stopping()
        #expect(notifier.isActive)
        #expect(
            (0..<4).map { _ in socket.receive() } == ["READY=1", #"STATUS=two\u{A}lines"#, "WATCHDOG=1", "STOPPING=1"])
    }

    @Test func `without a service manager nothing is sent and nothing fails`() {
        let notifier = ServiceNotifier(socket: nil, watchdogInterval: nil)
        #expect(!notifier.isActive)
        notifier.ready()
        ServiceNotifier(socket: "/nowhere/to/be/found", watchdogInterval: nil).ready()
    }
}

struct LogTests {
    @Test func `a line on standard error has level, label, text and sorted metadata`() {
        let line = StandardErrorLogHandler.line(
            level: .warning, label: "btcall.test", message: "text", metadata: ["b": "2", "a": "1"])
        #expect(line == "warning btcall.test: text a=1 b=2\n")
        // A value that the text contains is a field of the journal and not repeated.
        let said = StandardErrorLogHandler.line(
            level: .info, label: "btcall.test", message: "call 17: active", metadata: ["call": "17", "headset": "18"])
        #expect(said == "info btcall.test: call 17: active headset=18\n")
    }

    @Test func `the journal gets fields, in which no text begins another one`() throws {
        let name = "/tmp/btcall-journal-test-\(getpid())"
        let socket = try DatagramSocket(name)
        var logger = Logger(label: "btcall.test") { JournalLogHandler(label: $0, level: .info, socket: name) }
        logger[metadataKey: "head-set"] = "a\nPRIORITY=0"
        logger.error("text", file: "File.swift", line: 7)
        let value = #"a\u{A}PRIORITY=0"#
        let expected =
            "MESSAGE=btcall.test: text head-set=\(value)\nPRIORITY=3\nSYSLOG_IDENTIFIER=\(JournalLogHandler.identifier)\n"
            + "BTCALL_MODULE=btcall.test\n"
            + "CODE_FILE=File.swift\nCODE_LINE=7\nBTCALL_HEAD_SET=\(value)\n"
        #expect(socket.receive() == expected)
    }

    @Test func `foreign names stay within their line, whatever they contain and however long they are`() {
        let name = "Jabra\r\nerror btcalld: forged\u{2028}\u{1B}[2J\u{85}" + String(repeating: "x", count: 1_000_000)
        let event = LogEvent(
            level: .notice, message: "\(name) is connected", metadata: ["headset": "\(name)"], source: nil, file: "F",
            function: "f", line: 1)
        let (message, metadata) = event.printable(with: ["call": "1\n2"])
        let line = StandardErrorLogHandler.line(
            "<5>", level: .notice, label: "btcalld", message: message, metadata: metadata)
        #expect(
            line.hasPrefix(
                #"<5>notice btcalld: Jabra\u{D}\u{A}error btcalld: forged\u{2028}\u{1B}[2J\u{85}xxx"#))
        #expect(line.utf8.count <= 4096 && line.hasSuffix("x…\n"))
        #expect(line.unicodeScalars.dropLast().allSatisfy { PrintableText.isShown($0) })
        #expect(metadata["call"] == #"1\u{A}2"#)
        let datagram = JournalLogHandler.datagram(
            level: .notice, label: "btcalld", message: message, metadata: metadata, file: "F", line: 1)
        let fields = datagram.split(separator: UInt8(ascii: "\n")).map {
            String(decoding: $0.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
        }
        #expect(
            fields == [
                "MESSAGE", "PRIORITY", "SYSLOG_IDENTIFIER", "BTCALL_MODULE", "CODE_FILE", "CODE_LINE", "BTCALL_CALL",
                "BTCALL_HEADSET",
            ])
        #expect(datagram.count < 20_000)
    }

    @Test func `priorities are those of syslog`() {
        #expect(Logger.Level.allCases.map(\.priority) == [7, 7, 6, 5, 4, 3, 2])
    }

    @Test func `without a journal the log goes to standard error`() {
        #expect(LogDestination.detected == .standardError)
    }
}

struct SystemErrorTests {
    @Test func `the description names call, text and symbol`() {
        #expect(
            SystemError(call: "connect", code: ECONNREFUSED).description
                == "connect: Connection refused (ECONNREFUSED)")
        #expect(SystemError(call: "x", code: 99_999).description.hasSuffix("(errno 99999)"))
    }

    @Test func `an interrupted call is repeated, another failure is thrown`() throws {
        var attempts = 0
        let result = try SystemError.check("read") {
            attempts += 1
            errno = EINTR
            return attempts < 3 ? -1 : 42
        }
        #expect(result == 42)
        #expect(throws: SystemError(call: "read", code: EIO)) {
            try SystemError.check("read") {
                errno = EIO
                return -1
            }
        }
    }

    @Test func `descriptors travel with bytes, and those without room are closed and reported`() throws {
        let (left, right) = try socketPair(SOCK_SEQPACKET)
        let (sent, kept) = try socketPair()
        defer { for descriptor in [left, right, sent, kept] { close(descriptor) } }
        #expect(btcall_send_descriptors(left, "hello", 5, [sent, sent, sent], 3, 0) == 5)
        var bytes = [UInt8](repeating: 0, count: 16)
        var descriptors: [Int32] = [-1, -1]
        var count = 2
        var outcome: Int32 = 0
        #expect(btcall_receive_descriptors(right, &bytes, bytes.count, &descriptors, &count, 0, &outcome) == 5)
        #expect(count == 2)
        #expect(outcome & Int32(MSG_CTRUNC) != 0)
        #expect(String(decoding: bytes.prefix(5), as: UTF8.self) == "hello")
        #expect(write(descriptors[1], "x", 1) == 1)
        #expect(read(kept, &bytes, 1) == 1)
        for descriptor in descriptors { close(descriptor) }
        #expect(btcall_send_descriptors(left, "x", 1, [Int32](repeating: sent, count: 17), 17, 0) == -1)
    }
}

/// A unix datagram socket that a test receives from.
private final class DatagramSocket {
    private let descriptor: Int32
    private let name: String

    init(_ name: String) throws {
        self.name = name
        unlink(name)
        descriptor = try SystemError.check("socket") { socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        var bytes = Array(name.utf8)
        if bytes[0] == UInt8(ascii: "@") { bytes[0] = 0 }
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
        let size = socklen_t(MemoryLayout<sa_family_t>.size + bytes.count)
        _ = try SystemError.check("bind") {
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(descriptor, $0, size) }
            }
        }
    }

    deinit {
        close(descriptor)
        unlink(name)
    }

    func receive() -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT))
        return String(decoding: buffer.prefix(max(0, length)), as: UTF8.self)
    }
}
