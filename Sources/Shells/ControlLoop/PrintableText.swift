/// Text of others as terminals and logs show it: nothing in it acts on a terminal, begins a line or turns round what follows.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, direction marks, other invisible format characters and
/// private ones are shown as `\u{1B}`. Joiners and variation selectors are left out: terminals disagree on the width that they
/// give. A text is the same when it is cleaned twice.
package enum PrintableText {
    /// What is kept of one text, in bytes of UTF-8; a longer one ends with `…`.
    package static let longest = 4096
    private static let ellipsis = "…"

    /// Cleans a text that is part of one line.
    ///
    /// - Parameter limit: bytes of UTF-8 of the result, at least 4.
    package static func line(_ text: some StringProtocol, longest limit: Int = longest) -> String {
        if isPlain(text.utf8, limit) { return String(text) }
        return cleaned(text.unicodeScalars, limit) { _ in false }
    }

    /// Cleans bytes that should be UTF-8: those that are not become U+FFFD.
    package static func line(bytes: some Collection<UInt8>, longest limit: Int = longest) -> String {
        line(String(decoding: bytes, as: UTF8.self), longest: limit)
    }

    /// Cleans a text of several lines, whole: its line feeds and tabs stay.
    package static func document(_ text: String) -> String {
        cleaned(text.unicodeScalars, .max) { $0 == "\n" || $0 == "\t" }
    }

    /// The same for JSON, which stays the same document: what is not shown is escaped as in RFC 8259 §7.
    package static func document(json: String) -> String {
        var result = ""
        for scalar in json.unicodeScalars {
            if isShown(scalar) || scalar == "\n" || scalar == "\t" {
                result.unicodeScalars.append(scalar)
            } else {
                result += jsonEscape(scalar)
            }
        }
        return result
    }

    /// A character within a string of JSON (RFC 8259 §7): `\u001b`, two of them beyond the basic plane.
    package static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
        String(scalar).utf16.map { unit in
            let digits = String(unit, radix: 16)
            return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }.joined()
    }

    /// Whether a terminal shows the character, and does nothing else.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x20...0x7E: true
        case 0...0x1F, 0x7F...0x9F: false
        default: !isLeftOut(scalar) && !hidden.contains { $0.contains(scalar.value) } && scalar.value & 0xFFFE != 0xFFFE
        }
    }

    private static func cleaned(
        _ scalars: some Sequence<Unicode.Scalar>, _ limit: Int, keeping isKept: (Unicode.Scalar) -> Bool
    ) -> String {
        var result = ""
        var count = 0
        // What stays in front of the ellipsis when it has to be cut, in bytes.
        var beginning = 0
        for scalar in scalars where !isLeftOut(scalar) {
            let shown = isShown(scalar) || isKept(scalar) ? String(scalar) : escape(scalar)
            count += shown.utf8.count
            guard count <= limit else {
                return String(decoding: result.utf8.prefix(beginning), as: UTF8.self) + ellipsis
            }
            result += shown
            if count <= limit - ellipsis.utf8.count { beginning = count }
        }
        return result
    }

    /// Most texts are: ASCII without control characters, and short.
    private static func isPlain(_ bytes: some Collection<UInt8>, _ limit: Int) -> Bool {
        var count = 0
        for byte in bytes {
            count += 1
            if count > limit || byte < 0x20 || byte > 0x7E { return false }
        }
        return true
    }

    private static func escape(_ scalar: Unicode.Scalar) -> String {
        "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
    }

    /// Joiners and variation selectors.
    private static func isLeftOut(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x200C...0x200D, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
        default: false
        }
    }

    /// Soft hyphen, direction marks and overrides, separators of lines, spaces without width, annotations, tags, private use.
    private static let hidden: [ClosedRange<UInt32>] = [
        0xAD...0xAD, 0x61C...0x61C, 0x180E...0x180E, 0x200B...0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F,
        0xE000...0xF8FF, 0xFDD0...0xFDEF, 0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0x1D173...0x1D17A, 0xE0000...0xE00FF,
        0xE01F0...0xE0FFF, 0xF0000...0x10FFFF,
    ]
}
