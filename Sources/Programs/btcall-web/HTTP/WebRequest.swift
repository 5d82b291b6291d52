import NIOHTTP1

/// One request, with its whole body.
struct WebRequest: Sendable {
    /// For example `GET`. HEAD arrives as GET: its answer's body is not sent.
    let method: String
    /// Decoded, without the query; begins with a slash.
    let path: String
    let query: [String: String]
    let headers: HTTPHeaders
    let body: [UInt8]
    let peer: WebPeer

    /// Most bytes of the address.
    static let longestAddress = 2048
    /// Most bytes of the body.
    static let longestBody = 64 * 1024
    /// Most bytes of all fields of the head.
    static let longestHead = 8 * 1024

    init(_ head: HTTPRequestHead, _ body: [UInt8], from peer: WebPeer) throws(WebError) {
        guard head.uri.utf8.count <= Self.longestAddress else {
            throw WebError(414, "tooLarge", "the address has more than \(Self.longestAddress) bytes")
        }
        let parts = head.uri.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        guard let path = Self.decoded(parts[0]), path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw WebError(400, "badRequest", "the address is no path that begins with /, in UTF-8")
        }
        method = head.method == .HEAD ? "GET" : head.method.rawValue
        self.path = path
        query = try Self.query(parts.count > 1 ? parts[1] : "")
        headers = head.headers
        self.body = body
        self.peer = peer
    }

    /// The first field of this name.
    func header(_ name: String) -> String? { headers.first(name: name) }

    private static func query(_ text: Substring) throws(WebError) -> [String: String] {
        var values: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = decoded(parts[0]), let value = decoded(parts.count > 1 ? parts[1] : "true") else {
                throw WebError(400, "badRequest", "the query is not encoded as NAME=VALUE&NAME=VALUE")
            }
            values[name] = value
        }
        return values
    }

    /// Replaces `%41` by `A`; nil for anything that is not UTF-8 then.
    static func decoded(_ text: some StringProtocol) -> String? {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = rest.prefix(2)
            guard digits.count == 2, digits.allSatisfy(isHexadecimal),
                let value = UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        Unicode.Scalar(byte).properties.isASCIIHexDigit
    }
}
