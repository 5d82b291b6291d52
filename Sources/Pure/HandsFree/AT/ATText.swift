/// Text that is safe in a line to a headset. Names and numbers come from the remote party: nothing in them may end the line
/// or the quoted string, or exceed a headset's buffer.
package enum ATText {
    /// Extracts a number: digits, `*#+`, and the letters and pauses of a dial string if it contains nothing else; at most 32
    /// characters. From an address like `sip:4711@pbx`, takes the part before the `@` if that is a number.
    package static func number(_ text: String) -> String {
        var bytes = text.utf8[...]
        for scheme in ["tel:", "sip:", "sips:"] where bytes.starts(with: scheme.utf8) {
            bytes = bytes.dropFirst(scheme.utf8.count)
        }
        let isAddress = bytes.contains(UInt8(ascii: "@"))
        bytes = bytes.prefix { $0 != UInt8(ascii: "@") && $0 != UInt8(ascii: ";") }
        let isPlain = bytes.allSatisfy { isDialByte($0) || isSeparator($0) }
        guard isPlain || !isAddress else { return "" }
        let kept = bytes.lazy.filter { isPlain ? isDialByte($0) : isNumberByte($0) }
        return String(decoding: Array(kept.prefix(32)), as: UTF8.self)
    }

    /// Returns a name without control characters and line separators, with quotes replaced by apostrophes and backslashes by
    /// slashes, of at most `limit` bytes of UTF-8, cut between characters.
    package static func name(_ text: String, limit: Int = 64) -> String {
        var result = ""
        var count = 0
        for scalar in text.unicodeScalars {
            let kept: Unicode.Scalar
            switch scalar {
            case "\"": kept = "'"
            case "\\": kept = "/"
            default: kept = scalar
            }
            guard !isControl(kept) else { continue }
            let size = UTF8.width(kept)
            guard count + size <= limit else { break }
            count += size
            result.unicodeScalars.append(kept)
        }
        return result
    }

    /// Returns a word that needs no quotes: no comma, no space, no quote; at most 32 bytes.
    package static func word(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 where byte > 0x20 && byte < 0x7F && bytes.count < 32 {
            if byte != UInt8(ascii: ","), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "=") { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Formats `text` for its type of address (HFP 1.9 §4.34.2, +CLIP): an international one includes the plus sign.
    ///
    /// - Parameter type: 128…255; anything else, or nil: derived from the number.
    /// - Returns: the number, possibly empty, and its type.
    package static func address(_ text: String, type: Int?) -> (number: String, type: Int) {
        let digits = number(text)
        guard let type, (128...255).contains(type) else { return (digits, numberType(digits)) }
        let isInternational = (144...159).contains(type) && !digits.isEmpty
        return (isInternational && digits.utf8.first != UInt8(ascii: "+") ? "+\(digits)" : digits, type)
    }

    /// Returns 145 for an international number, otherwise 129 (3GPP TS 24.008 §10.5.4.7).
    package static func numberType(_ number: String) -> Int {
        number.utf8.first == UInt8(ascii: "+") ? 145 : 129
    }

    /// Whether ATD accepts this byte in a number: digits, `*#+ABCD`, pauses and `!`, in any order, because headsets know
    /// what they send. In V.250 §6.3.1 the comma is a pause.
    package static func isDialByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "D"),
            UInt8(ascii: "*"), UInt8(ascii: "#"), UInt8(ascii: "+"),
            UInt8(ascii: "p"), UInt8(ascii: "P"), UInt8(ascii: "w"), UInt8(ascii: "W"), UInt8(ascii: "T"),
            UInt8(ascii: "t"), UInt8(ascii: "!"), UInt8(ascii: ","):
            true
        default: false
        }
    }

    /// Whether the byte may occur in every number, and also in a text that is more than a number.
    private static func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "#"), UInt8(ascii: "+"): true
        default: false
        }
    }

    /// Whether people write this byte between digits.
    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "."),
            UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// Whether the scalar is C0, DEL, C1, a line or paragraph separator, a direction mark or an override.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
