import JSONText

/// Foreign text in a form that is safe for terminals and logs: nothing in it acts on a terminal, begins a line or reverses
/// what follows.
///
/// Control characters (C0, DEL, C1), line and paragraph separators, direction marks, other invisible format characters and
/// private ones are shown as `\u{1B}`. Joiners and variation selectors are left out, because terminals disagree on their
/// width. Cleaning a cleaned text does not change it.
package enum PrintableText {
    /// Longest text in bytes of UTF-8; a longer one ends with `…`.
    package static let longest = 4096
    private static let ellipsis = "…"

    /// Cleans a text that is part of one line.
    ///
    /// - Parameter limit: bytes of UTF-8 of the result, at least 4.
    package static func line(_ text: some StringProtocol, longest limit: Int = longest) -> String {
        if isPlain(text.utf8, limit) { return String(text) }
        return cleaned(text.unicodeScalars, limit) { _ in false }
    }

    /// Cleans bytes that should be UTF-8; invalid ones become U+FFFD.
    package static func line(bytes: some Collection<UInt8>, longest limit: Int = longest) -> String {
        line(String(decoding: bytes, as: UTF8.self), longest: limit)
    }

    /// Cleans a whole text of several lines: its line feeds and tabs stay.
    package static func document(_ text: String) -> String {
        cleaned(text.unicodeScalars, .max) { $0 == "\n" || $0 == "\t" }
    }

    /// Cleans JSON, which stays the same document: unsafe characters are escaped as in RFC 8259 §7.
    package static func document(json: String) -> String {
        var result = ""
        for scalar in json.unicodeScalars {
            if isShown(scalar) || scalar == "\n" || scalar == "\t" {
                result.unicodeScalars.append(scalar)
            } else {
                result += scalar.escapedForJSON
            }
        }
        return result
    }

    /// Whether a terminal shows the character, and does nothing else.
    package static func isShown(_ scalar: Unicode.Scalar) -> Bool { scalar.isShown }

    private static func cleaned(
        _ scalars: some Sequence<Unicode.Scalar>, _ limit: Int, keeping isKept: (Unicode.Scalar) -> Bool
    ) -> String {
        var result = ""
        var count = 0
        // Bytes that stay before the ellipsis if the text has to be cut.
        var beginning = 0
        for scalar in scalars where !scalar.isJoining {
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

    /// Fast check for the usual case: short ASCII without control characters.
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
}
