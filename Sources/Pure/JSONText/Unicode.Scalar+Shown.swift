extension Unicode.Scalar {
    /// Whether a terminal shows the character and does nothing else.
    ///
    /// False for control characters (C0, DEL, C1), line and paragraph separators, direction marks, other invisible format
    /// characters, private ones and noncharacters, joiners and variation selectors.
    package var isShown: Bool {
        switch value {
        case 0x20...0x7E: true
        case 0...0x1F, 0x7F...0x9F: false
        default: !isJoining && !Self.hidden.contains { $0.contains(value) } && value & 0xFFFE != 0xFFFE
        }
    }

    /// Whether the character is a joiner or a variation selector. Terminals disagree about their width.
    package var isJoining: Bool {
        switch value {
        case 0x200C...0x200D, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
        default: false
        }
    }

    /// The character escaped for a JSON string (RFC 8259 §7): `\u001b`, two escapes beyond the basic plane.
    package var escapedForJSON: String {
        String(self).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    /// Soft hyphen, direction marks and overrides, line separators, zero-width spaces, annotations, tags, private use.
    private static let hidden: [ClosedRange<UInt32>] = [
        0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F,
        0xE000...0xF8FF, 0xFDD0...0xFDEF, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0x1D173...0x1D17A, 0xE0000...0xE00FF,
        0xE01F0...0xE0FFF, 0xF0000...0x10FFFF,
    ]
}
