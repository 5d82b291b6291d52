import Glibc

/// A numeric address with a port: `127.0.0.1:8460` or `[::1]:8460`.
struct ListenAddress: Hashable, Sendable, CustomStringConvertible {
    static let standard = ListenAddress(address: "127.0.0.1", port: 8460)
    static let accepted = "ADDRESS:PORT as 127.0.0.1:8460 or [::1]:8460, or none"

    let address: String
    /// 0: the system chooses one.
    let port: UInt16

    init(address: String, port: UInt16) {
        self.address = address
        self.port = port
    }

    init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return nil
        }
        var address = text[..<colon]
        if address.hasPrefix("["), address.hasSuffix("]") {
            address = address.dropFirst().dropLast()
        } else if address.contains(":") {
            return nil
        }
        guard Self.isAddress(String(address)) else { return nil }
        self.init(address: String(address), port: port)
    }

    var description: String { address.contains(":") ? "[\(address)]:\(port)" : "\(address):\(port)" }

    /// Whether a text is a numeric address.
    static func isAddress(_ text: String) -> Bool {
        var bytes = in6_addr()
        return inet_pton(AF_INET, text, &bytes) == 1 || inet_pton(AF_INET6, text, &bytes) == 1
    }
}
