import CommandTestSupport
import ControlLoop
import Foundation
import Glibc
import TestSupport
import Testing

/// Drives `btcall-lab gateway` as a separate process, and acts as its headsets.
final class GatewayDriver {
    private let process: ChildProcess
    private let folder: String
    private let listener: Int32
    private let control: SocketStream
    private var links = 0

    init() throws {
        folder = NSTemporaryDirectory() + "btcall-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        listener = try UnixListener.open(folder + "/control", isBlocking: true)
        let program = try #require(LabCommandTests.program).path()
        process = try ChildProcess(program, ["gateway", "--control", folder + "/control"], capturing: .errors)
        control = try SocketStream(accepting: listener)
    }

    deinit {
        close(listener)
        // A leftover folder is harmless.
        try? FileManager.default.removeItem(atPath: folder)
    }

    /// Sends messages, all at once.
    func say(_ messages: String...) {
        control.write(messages.map { $0 + "\n" }.joined())
    }

    /// Sends text unchanged.
    func write(_ text: String) {
        control.write(text)
    }

    /// The next message, as text.
    func message() throws -> String { try control.line() }

    func configure(_ members: String = "") {
        say(#"{"op":"configure","ag":{\#(members)}}"#)
    }

    func connect(link: Int = 0) throws -> SocketStream {
        links += 1
        let path = "\(folder)/\(links)"
        let listener = try UnixListener.open(path, isBlocking: true)
        defer { close(listener) }
        say(#"{"op":"link_up","link":\#(link),"path":"\#(path)"}"#)
        return try SocketStream(accepting: listener)
    }

    /// A headset with its service level connection; codec negotiation, three-way calling, remote volume.
    func headset(link: Int = 0, codecs: String = "1,2") throws -> SocketStream {
        let stream = try connect(link: link)
        for line in ["AT+BRSF=150", "AT+BAC=\(codecs)", "AT+CIND=?", "AT+CIND?", "AT+CMER=3,0,0,1", "AT+CHLD=?"] {
            try stream.command(line)
        }
        #expect(try message() == #"{"op":"slc","link":\#(link),"up":true}"#)
        return stream
    }

    func hangUp() {
        control.close()
    }

    /// Its output and exit status at the end.
    func end() -> (text: String, status: Int32) { process.finish() }
}

/// A Unix stream socket for tests: reads wait at most ten seconds.
final class SocketStream {
    private struct Silence: Error {}

    private var descriptor: Int32
    private var kept: [UInt8] = []

    init(accepting listener: Int32) throws {
        var poll = pollfd(fd: listener, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, 10_000) == 1 else { throw Silence() }
        descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { throw SystemError("accept") }
    }

    deinit { close() }

    func close() {
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    func write(_ text: String) {
        let bytes = Array(text.utf8)
        let count = bytes.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        #expect(count == bytes.count)
    }

    /// The next line that is not empty, without its newline.
    func line() throws -> String {
        while true {
            if let end = kept.firstIndex(of: UInt8(ascii: "\n")) {
                let line = kept[..<end].filter { $0 != UInt8(ascii: "\r") }
                kept.removeSubrange(...end)
                if !line.isEmpty { return String(decoding: line, as: UTF8.self) }
                continue
            }
            guard try read() else { throw Silence() }
        }
    }

    /// Whether the other end closes without sending anything before.
    func isClosed() throws -> Bool { try !read() && kept.isEmpty }

    /// Sends an AT command and reads everything up to its OK.
    @discardableResult
    func command(_ text: String) throws -> [String] {
        write(text + "\r")
        var lines: [String] = []
        while lines.last != "OK" { lines.append(try line()) }
        return lines.dropLast()
    }

    private func read() throws -> Bool {
        var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard Glibc.poll(&poll, 1, 10_000) == 1 else { throw Silence() }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = Glibc.read(descriptor, &buffer, buffer.count)
        guard count > 0 else { return false }
        kept += buffer[..<count]
        return true
    }
}
