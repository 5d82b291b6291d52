/// The other party's address: a number, or an address with a scheme (RFC 3986 §3.1), such as `sip:bob@example.org`.
package struct CallAddress: Hashable, Sendable {
    /// The scheme of plain numbers.
    package static let numbers = "tel"

    /// The address as given.
    package let text: String
    /// In lower case; nil for a plain number.
    package let scheme: String?

    package init(_ text: String) {
        self.text = text
        let end = text.utf8.firstIndex(of: UInt8(ascii: ":"))
        scheme = end.map { text[..<$0] }.flatMap { Self.isScheme($0) ? $0.lowercased() : nil }
    }

    /// The text to dial and show: for `tel:` the number alone.
    package var number: String {
        guard scheme == Self.numbers else { return text }
        return String(text.dropFirst(Self.numbers.utf8.count + 1))
    }

    /// The address with its scheme, if it has one; empty for an unknown party.
    package var uri: String {
        guard scheme == nil, !text.isEmpty, text.utf8.allSatisfy(Self.isDigit) else { return text }
        return "\(Self.numbers):\(text)"
    }

    /// Whether the text is a letter followed by letters, digits, `+`, `-` and `.`; at most 32 characters.
    package static func isScheme(_ text: some StringProtocol) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= 32, isLetter(first) else { return false }
        return text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: isLetter(byte)
            }
        }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "*"), UInt8(ascii: "#"): true
        default: false
        }
    }
}
