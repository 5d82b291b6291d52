/// A request to the metrics port: `GET /metrics` of HTTP/1.0 or 1.1 (RFC 9112 §3).
///
/// A web page whose own name resolves to 127.0.0.1 (DNS rebinding) can make a browser on this machine send a request with
/// that name as the host, and read the answer. So only the names of the loopback are accepted. A request without a host does
/// not come from a browser.
package enum MetricsRequest: Equatable, Sendable {
    case metrics
    case refused(Status)

    package enum Status: Equatable, Sendable {
        case badRequest, notFound, methodNotAllowed, misdirected, tooLarge

        package var line: String {
            switch self {
            case .badRequest: "400 Bad Request"
            case .notFound: "404 Not Found"
            case .methodNotAllowed: "405 Method Not Allowed"
            case .misdirected: "421 Misdirected Request"
            case .tooLarge: "431 Request Header Fields Too Large"
            }
        }

        /// One line of explanation for the person who asked.
        package var explanation: String {
            switch self {
            case .badRequest: "this is no request of HTTP/1.1"
            case .notFound: "there is only /metrics"
            case .methodNotAllowed: "only GET is answered"
            case .misdirected: "the field Host is neither 127.0.0.1 nor localhost, with or without a port"
            case .tooLarge: "a request has at most \(MetricsRequest.longest) bytes"
            }
        }
    }

    /// Longest request in bytes, with all its fields.
    package static let longest = 4096

    /// - Parameter bytes: all bytes received so far.
    /// - Returns: nil while the end of the request is missing.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count <= Self.longest else {
            self = .refused(.tooLarge)
            return
        }
        guard Self.isWhole(bytes) else { return nil }
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
        let words = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
        guard words.count == 3, words[2].elementsEqual("HTTP/1.1".utf8) || words[2].elementsEqual("HTTP/1.0".utf8),
            !words[0].isEmpty, words[1].first == UInt8(ascii: "/")
        else {
            self = .refused(.badRequest)
            return
        }
        guard Self.hosts(bytes).allSatisfy(Self.isLoopback) else {
            self = .refused(.misdirected)
            return
        }
        let path = words[1].prefix { $0 != UInt8(ascii: "?") }
        guard path.elementsEqual("/metrics".utf8) else {
            self = .refused(.notFound)
            return
        }
        self = words[0].elementsEqual("GET".utf8) ? .metrics : .refused(.methodNotAllowed)
    }

    /// The values of the `Host` fields, without surrounding spaces.
    private static func hosts(_ bytes: [UInt8]) -> [[UInt8]] {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
        return bytes.split(separator: 0x0A).dropFirst().compactMap { line in
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let name = line[..<colon].filter { !isSpace($0) }
            guard lowercased(name).elementsEqual("host".utf8) else { return nil }
            let value = line[line.index(after: colon)...].drop(while: isSpace)
            return Array(value.reversed().drop(while: isSpace).reversed())
        }
    }

    private static func isLoopback(_ host: [UInt8]) -> Bool {
        let parts = host.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        let name = lowercased(parts[0])
        guard name.elementsEqual("127.0.0.1".utf8) || name.elementsEqual("localhost".utf8) else { return false }
        return parts.dropFirst().allSatisfy { port in
            (1...5).contains(port.count) && port.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
    }

    private static func lowercased(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }
    }

    /// Whether the request is complete: an empty line ends the fields; it has no body.
    private static func isWhole(_ bytes: [UInt8]) -> Bool {
        var isLineEmpty = false
        for byte in bytes {
            switch byte {
            case 0x0A:
                if isLineEmpty { return true }
                isLineEmpty = true
            case 0x0D: break
            default: isLineEmpty = false
            }
        }
        return false
    }

    /// The complete response.
    ///
    /// - Parameter text: the metrics.
    package func response(_ text: () -> String) -> [UInt8] {
        switch self {
        case .metrics: Self.response("200 OK", OpenMetricsText.contentType, text())
        case .refused(let status):
            Self.response(
                status.line, "text/plain; charset=utf-8", "btcalld: \(status.explanation)\n",
                more: status == .methodNotAllowed ? "Allow: GET\r\n" : "")
        }
    }

    private static func response(_ status: String, _ type: String, _ body: String, more: String = "") -> [UInt8] {
        let head =
            "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\(more)"
            + "Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        return Array(head.utf8) + Array(body.utf8)
    }
}
