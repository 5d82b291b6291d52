/// What may stand in a line to a headset. Names and numbers come from the other end of a call: nothing in them may end
/// the line, end the quoted string, or be more than a headset's buffer holds.
package enum ATText {
    /// The characters of a number, of a dial string, and nothing else; at most 32.
    package static func number(_ text: String) -> String {
        var bytes: [UInt8] = []
        for byte in text.utf8 where isDialByte(byte) && bytes.count < 32 {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
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

    /// 145 for an international number, else 129 (3GPP TS 24.008 §10.5.4.7).
    package static func numberType(_ number: String) -> Int {
        number.utf8.first == UInt8(ascii: "+") ? 145 : 129
    }

    /// What ATD takes as a number: digits, `*#+ABCD`, pauses and `!`; in any order, headsets know what they send.
    package static func isDialByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "D"),
            UInt8(ascii: "a")...UInt8(ascii: "d"), UInt8(ascii: "*"), UInt8(ascii: "#"), UInt8(ascii: "+"),
            UInt8(ascii: "p"), UInt8(ascii: "P"), UInt8(ascii: "w"), UInt8(ascii: "W"), UInt8(ascii: "T"),
            UInt8(ascii: "t"), UInt8(ascii: "!"):
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
