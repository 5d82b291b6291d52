/// Bytes that a device sends when its key is pressed or released, in the notation of a row: `+PTT=P`, `0x01`, `0x01/0x01`.
///
/// A text is printable ASCII; the case of its letters does not matter. After `/` stands a mask of the same length: bits that
/// are zero in it do not matter, for devices that notify one bit for each of their keys.
package struct TalkPattern: Hashable, Sendable {
    /// Most bytes of a pattern: more than a notification of 20 bytes and the longest known text.
    package static let longest = 32
    private static let hexPrefix = "0x"

    private let bytes: [UInt8]
    /// As long as `bytes`.
    private let mask: [UInt8]
    private let isText: Bool

    package var count: Int { bytes.count }

    /// Reads the notation; nil if not accepted.
    package init?(_ text: String) {
        guard text.hasPrefix(Self.hexPrefix) else {
            guard let pattern = TalkPattern(text: Array(text.utf8)) else { return nil }
            self = pattern
            return
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let bytes = Self.hex(parts[0]) else { return nil }
        var mask = [UInt8](repeating: 0xFF, count: bytes.count)
        if parts.count == 2 {
            guard let given = Self.hex(parts[1]), given.count == bytes.count, given.contains(where: { $0 != 0 }) else {
                return nil
            }
            mask = given
        }
        self.bytes = zip(bytes, mask).map { $0 & $1 }
        self.mask = mask
        isText = false
    }

    /// Creates the pattern of an observed message: a text without its line end if it is one, else exactly these bytes. nil
    /// without bytes, or if too many.
    package init?(observed bytes: [UInt8]) {
        guard let text = TalkPattern(text: Array(bytes[..<Self.textEnd(bytes)])) ?? TalkPattern(exactly: bytes) else {
            return nil
        }
        self = text
    }

    /// Creates a pattern of exactly these bytes; nil without bytes, or if too many.
    package init?(exactly bytes: [UInt8]) {
        guard (1...Self.longest).contains(bytes.count) else { return nil }
        self.bytes = bytes
        mask = [UInt8](repeating: 0xFF, count: bytes.count)
        isText = false
    }

    /// - Parameter text: printable ASCII without blanks, quotes, and commas and semicolons, which end a value in a file.
    private init?(text: [UInt8]) {
        let isPlain = text.allSatisfy {
            (0x21...0x7E).contains($0) && $0 != UInt8(ascii: ",") && $0 != UInt8(ascii: ";") && $0 != UInt8(ascii: "\"")
        }
        // `0x` would be read as hexadecimal.
        guard (1...Self.longest).contains(text.count), isPlain, !text.starts(with: Self.hexPrefix.utf8) else {
            return nil
        }
        bytes = text.map(Self.folded)
        mask = text.map { Self.isLetter($0) ? 0xDF : 0xFF }
        isText = true
    }

    /// Whether `value` is this pattern.
    package func matches(_ value: [UInt8]) -> Bool {
        let end = isText && value.count > count ? Self.textEnd(value) : value.count
        return end == count && matches(value[..<end])
    }

    /// Whether `value` ends with this pattern.
    package func matchesEnd(of value: [UInt8]) -> Bool { value.count >= count && matches(value.suffix(count)) }

    private func matches(_ slice: ArraySlice<UInt8>) -> Bool {
        slice.count == count && zip(slice, zip(bytes, mask)).allSatisfy { $0 & $1.1 == $1.0 }
    }

    /// Whether one value can match both at this distance.
    private func agrees(with other: TalkPattern, at offset: Int) -> Bool {
        other.bytes.indices.allSatisfy { index in
            let common = mask[offset + index] & other.mask[index]
            return bytes[offset + index] & common == other.bytes[index] & common
        }
    }

    /// Whether the same bytes can match both patterns as a whole.
    package func overlaps(_ other: TalkPattern) -> Bool { count == other.count && agrees(with: other, at: 0) }

    /// Whether bytes that match this pattern can contain the other one.
    package func contains(_ other: TalkPattern) -> Bool {
        count >= other.count && (0...(count - other.count)).contains { agrees(with: other, at: $0) }
    }

    // MARK: Notation

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte & 0xDF)
    }

    /// Folded to upper case under the mask of letters.
    private static func folded(_ byte: UInt8) -> UInt8 { isLetter(byte) ? byte & 0xDF : byte }

    /// End of a text: before its line end and zeroes.
    static func textEnd(_ value: [UInt8]) -> Int {
        let tail = value.reversed().prefix { $0 == 0x0D || $0 == 0x0A || $0 == 0 }
        return value.count - tail.count
    }

    private static func hex(_ text: Substring) -> [UInt8]? {
        guard text.hasPrefix(hexPrefix) else { return nil }
        let digits = Array(text.utf8.dropFirst(2))
        guard digits.count.isMultiple(of: 2), (1...longest).contains(digits.count / 2) else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digit(digits[index]), let low = digit(digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
    }

    private static func notation(_ bytes: [UInt8]) -> String {
        hexPrefix
            + bytes.map { byte in
                let digits = String(byte, radix: 16, uppercase: true)
                return byte < 16 ? "0" + digits : digits
            }.joined()
    }
}

extension TalkPattern: CustomStringConvertible {
    /// The notation of a row; texts in upper case.
    package var description: String {
        guard !isText else { return String(decoding: bytes, as: UTF8.self) }
        let isExact = mask.allSatisfy { $0 == 0xFF }
        return Self.notation(bytes) + (isExact ? "" : "/" + Self.notation(mask))
    }
}
