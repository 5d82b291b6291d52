/// What may stand in a line to a headset. Names and numbers come from the other end of a call: nothing in them may end
/// the line, end the quoted string, or be more than a headset's buffer holds.
package enum ATText {
    /// What of `text` is a number: digits, `*#+`, and the letters and pauses of a dial string where there is nothing else;
    /// at most 32 characters. Of an address like `sip:4711@pbx` the part before the `@`, if that is a number.
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

    /// A name without control characters and line separators, quotes replaced by apostrophes and backslashes by slashes,
    /// at most `limit` bytes of UTF-8, cut between characters.
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

    /// A word that stands without quotes: no comma, no space, no quote; at most 32 bytes.
    package static func word(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 where byte > 0x20 && byte < 0x7F && bytes.count < 32 {
            if byte != UInt8(ascii: ","), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "=") { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `text` as the type of address wants it (HFP 1.9 §4.34.2, +CLIP): of an international one the plus sign is part.
    ///
    /// - Parameter type: 128…255; anything else, or nil: from the number.
    /// - Returns: the number, perhaps empty, and its type.
    package static func address(_ text: String, type: Int?) -> (number: String, type: Int) {
        let digits = number(text)
        guard let type, (128...255).contains(type) else { return (digits, numberType(digits)) }
        let isInternational = (144...159).contains(type) && !digits.isEmpty
        return (isInternational && digits.utf8.first != UInt8(ascii: "+") ? "+\(digits)" : digits, type)
    }

    /// 145 for an international number, else 129 (3GPP TS 24.008 §10.5.4.7).
    package static func numberType(_ number: String) -> Int {
        number.utf8.first == UInt8(ascii: "+") ? 145 : 129
    }

    /// What ATD takes as a number: digits, `*#+ABCD`, pauses and `!`; in any order, headsets know what they send. V.250 §6.3.1
    /// has the comma as a pause.
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

    /// What every number may hold, and a text that is more than a number too.
    private static func isNumberByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "*"), UInt8(ascii: "#"), UInt8(ascii: "+"): true
        default: false
        }
    }

    /// What people write between the digits.
    private static func isSeparator(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "."),
            UInt8(ascii: "/"):
            true
        default: false
        }
    }

    /// C0, DEL, C1, line and paragraph separators, direction marks and overrides.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0...0x1F, 0x7F...0x9F, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF: true
        default: false
        }
    }
}
