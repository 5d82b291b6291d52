/// Listening address of baresip's module `ctrl_tcp`: an IPv4 address and a TCP port, written as `127.0.0.1:4444`.
package struct BaresipAddress: Hashable, Sendable {
    /// In host byte order.
    package let host: UInt32
    package let port: UInt16

    package init(host: UInt32, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Default of `ctrl_tcp_listen`, reachable only from this machine.
    package static let standard = BaresipAddress(host: 0x7F00_0001, port: 4444)
    package static let accepted = "an IPv4 address and a port, as 127.0.0.1:4444"

    /// Reads `HOST:PORT`; HOST is four decimal numbers or `localhost`, PORT is 1 to 65535.
    package init?(_ text: String) {
        let halves = text.split(separator: ":", omittingEmptySubsequences: false)
        guard halves.count == 2, let port = Self.number(halves[1], atMost: 65535), port > 0 else { return nil }
        let words = halves[0] == "localhost" ? "127.0.0.1" : halves[0]
        let parts = words.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4 else { return nil }
        var host: UInt32 = 0
        for part in parts {
            guard let number = Self.number(part, atMost: 255) else { return nil }
            host = host << 8 | UInt32(number)
        }
        self.init(host: host, port: UInt16(port))
    }

    /// Digits only: no sign, no white space, no leading zero, which some programs read as octal.
    private static func number(_ text: Substring, atMost limit: Int) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            text == "0" || !text.hasPrefix("0"), let number = Int(text), number <= limit
        else { return nil }
        return number
    }

    package var isLoopback: Bool { host >> 24 == 127 }
}

extension BaresipAddress: CustomStringConvertible {
    package var description: String {
        let parts = [24, 16, 8, 0].map { String(host >> UInt32($0) & 0xFF) }
        return parts.joined(separator: ".") + ":\(port)"
    }
}
