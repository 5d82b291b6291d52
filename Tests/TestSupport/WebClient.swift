import CBTCall
package import ControlLoop
import Glibc
import Testing

/// One connection to a web server, byte by byte: HTTP/1.1, server-sent events, and WebSocket.
@ControlPlane
package final class WebClient {
    package struct Reply: Sendable {
        package var status: Int
        /// Names in lower case.
        package var headers: [String: String]
        package var body: [UInt8]

        package var text: String { String(decoding: body, as: UTF8.self) }
    }

    package struct ClientError: Error, CustomStringConvertible {
        package let description: String

        package init(description: String) {
            self.description = description
        }
    }

    private var descriptor: Int32
    private var source: DescriptorSource?
    /// What has arrived and was not taken.
    package private(set) var received: [UInt8] = []
    package private(set) var isClosed = false

    /// Connects to a port of 127.0.0.1.
    package convenience init(port: UInt16) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        try self.init(AF_INET, address)
    }

    /// Connects to a Unix socket.
    package convenience init(path: String) throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        try self.init(AF_UNIX, address)
    }

    private init<Address>(_ family: Int32, _ address: Address) throws {
        descriptor = try SystemError.check("socket") {
            socket(family, Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        }
        let result = withUnsafePointer(to: address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<Address>.size))
            }
        }
        guard result == 0 else { throw ClientError(description: "connect: errno \(errno)") }
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    isolated deinit { close() }

    package func close() {
        source?.cancel()
        source = nil
        if descriptor >= 0 { Glibc.close(descriptor) }
        descriptor = -1
    }

    /// Begins to read; without it nothing is taken from the socket.
    package func startReading() throws {
        guard source == nil else { return }
        source = try ControlLoop.shared.add(descriptor, .readable) { [weak self] _ in self?.read() }
    }

    /// Takes nothing more from the socket.
    package func pause() { source?.cancel() }

    private func read() {
        var piece = [UInt8](repeating: 0, count: 65536)
        let count = Glibc.read(descriptor, &piece, piece.count)
        if count > 0 { received += piece[..<count] }
        guard count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR) else { return }
        isClosed = true
        source?.cancel()
    }

    /// Sends bytes, as long as the server takes them.
    package func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    package func send(_ text: String) { send(Array(text.utf8)) }

    // MARK: HTTP

    /// Sends a request.
    ///
    /// - Parameter fields: further fields of the head, each with its line end.
    package func send(
        _ method: String, _ path: String, token: String? = nil, body: String? = nil, fields: String = ""
    ) throws {
        try startReading()
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n\(fields)"
        if let token { head += "Authorization: Bearer \(token)\r\n" }
        if let body { head += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
        send(head + "\r\n" + (body ?? ""))
    }

    /// Sends a request and waits for the answer.
    package func request(
        _ method: String, _ path: String, token: String? = nil, body: String? = nil, fields: String = "",
        hasBody: Bool = true
    ) async throws -> Reply {
        try send(method, path, token: token, body: body, fields: fields)
        return try await reply(hasBody: hasBody)
    }

    /// Waits for an answer with a length.
    package func reply(hasBody: Bool = true) async throws -> Reply {
        try startReading()
        try await eventually("the server answers") { self.headEnd != nil || self.isClosed }
        var reply = try head()
        let length = hasBody ? reply.headers["content-length"].flatMap { Int($0) } ?? 0 : 0
        try await eventually("the body arrives") { self.received.count >= length || self.isClosed }
        reply.body = Array(received.prefix(length))
        received.removeFirst(min(length, received.count))
        return reply
    }

    /// Takes the head of an answer.
    package func head() throws -> Reply {
        guard let end = headEnd else {
            throw ClientError(description: "no answer: \(String(decoding: received, as: UTF8.self))")
        }
        let lines = String(decoding: received[..<end], as: UTF8.self).split(separator: "\r\n")
        received.removeFirst(end)
        let words = lines[0].split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else {
            throw ClientError(description: "no status: \(lines[0])")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = String(parts[1].drop { $0 == " " })
        }
        return Reply(status: status, headers: headers, body: [])
    }

    /// The first byte after the head.
    private var headEnd: Int? {
        received.firstRange(of: Array("\r\n\r\n".utf8)).map(\.upperBound)
    }

    // MARK: Server-sent events

    /// The `data:` lines that have arrived, whole ones, in order.
    package var events: [String] {
        // By bytes: CR LF is one character, and each chunk begins after one.
        received.split(separator: UInt8(ascii: "\n")).compactMap { line in
            line.starts(with: "data: ".utf8) ? String(decoding: line.dropFirst(6), as: UTF8.self) : nil
        }
    }

    // MARK: WebSocket

    /// Opens a WebSocket on this connection.
    package func openSocket(_ path: String = "/v1/socket", token: String? = nil, fields: String = "") async throws
        -> Int
    {
        let upgrade =
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        try send("GET", path, token: token, fields: upgrade + fields)
        try await eventually("the server answers") { self.headEnd != nil || self.isClosed }
        return try head().status
    }

    /// Sends one frame of the client, with a mask.
    ///
    /// - Parameter opcode: 1 text, 2 binary, 8 close, 9 ping, 10 pong.
    package func sendFrame(_ payload: [UInt8], opcode: UInt8 = 1, isLast: Bool = true) {
        var frame: [UInt8] = [(isLast ? 0x80 : 0) | opcode]
        switch payload.count {
        case ..<126: frame.append(0x80 | UInt8(payload.count))
        case ..<65536:
            frame.append(0x80 | 126)
            withUnsafeBytes(of: UInt16(payload.count).bigEndian) { frame.append(contentsOf: $0) }
        default:
            frame.append(0x80 | 127)
            withUnsafeBytes(of: UInt64(payload.count).bigEndian) { frame.append(contentsOf: $0) }
        }
        let mask: [UInt8] = [1, 2, 3, 4]
        frame += mask
        frame += payload.enumerated().map { $0.element ^ mask[$0.offset & 3] }
        send(frame)
    }

    package func say(_ text: String) { sendFrame(Array(text.utf8)) }

    /// The whole frames that have arrived, in order.
    package var frames: [(opcode: UInt8, payload: [UInt8])] {
        var frames: [(opcode: UInt8, payload: [UInt8])] = []
        var rest = received[...]
        while rest.count >= 2 {
            let opcode = rest[rest.startIndex] & 15
            var length = Int(rest[rest.startIndex + 1] & 127)
            var start = rest.startIndex + 2
            let extra = length == 126 ? 2 : length == 127 ? 8 : 0
            guard rest.count >= 2 + extra else { break }
            if extra > 0 { length = rest[start..<start + extra].reduce(0) { $0 << 8 | Int($1) } }
            start += extra
            guard rest.endIndex - start >= length else { break }
            frames.append((opcode, Array(rest[start..<start + length])))
            rest = rest[(start + length)...]
        }
        return frames
    }

    /// The text messages that have arrived.
    package var messages: [String] {
        frames.filter { $0.opcode == 1 }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// The code of the server's close frame; nil before it.
    package var closeCode: Int? {
        frames.first { $0.opcode == 8 }.map { $0.payload.prefix(2).reduce(0) { $0 << 8 | Int($1) } }
    }

    /// Waits for a message that contains all these texts, and returns it.
    package func message(_ parts: String...) async throws -> String {
        var found: String?
        try await eventually("there is a message with \(parts)") {
            found = self.messages.last { message in parts.allSatisfy(message.contains) }
            return found != nil
        }
        return found ?? ""
    }
}
