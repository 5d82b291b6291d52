import ControlLoop
import Testing

struct PrintableTextTests {
    @Test(arguments: [
        ("Jabra Évolve 65", "Jabra Évolve 65"),
        ("\u{1B}[2Jgone\u{7}", #"\u{1B}[2Jgone\u{7}"#),
        ("one\r\ntwo\tthree\u{7F}", #"one\u{D}\u{A}two\u{9}three\u{7F}"#),
        // A control sequence introducer of one byte, a text that reverses direction, a line separator, a private character.
        ("\u{9B}31m\u{202E}abc\u{2028}\u{E000}", #"\u{9B}31m\u{202E}abc\u{2028}\u{E000}"#),
        ("\u{2066}x\u{2069}\u{85}\u{2029}\u{0}", #"\u{2066}x\u{2069}\u{85}\u{2029}\u{0}"#),
        ("\u{200B}\u{FEFF}\u{E0041}\u{10FFFF}\u{FFFE}", #"\u{200B}\u{FEFF}\u{E0041}\u{10FFFF}\u{FFFE}"#),
        ("👩\u{200D}🔧❤\u{FE0F} می\u{200C}روم", "👩🔧❤ میروم"),
    ])
    func `characters that act on a terminal are shown escaped, and cleaned text stays the same`(
        _ text: String, _ expected: String
    ) {
        #expect(PrintableText.line(text) == expected)
        #expect(PrintableText.line(expected) == expected)
    }

    @Test func `no character acts on a terminal or ends a line`() {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let kind = scalar.properties.generalCategory
            let isHarmless =
                ![.control, .lineSeparator, .paragraphSeparator, .privateUse].contains(kind)
                && !scalar.properties.isBidiControl
            if PrintableText.isShown(scalar) { #expect(isHarmless, "\(String(value, radix: 16))") }
        }
    }

    @Test func `a long text is cut between two characters, within its limit`() {
        #expect(PrintableText.line("abcdef", longest: 6) == "abcdef")
        #expect(PrintableText.line("abcdefg", longest: 6) == "abc…")
        #expect(PrintableText.line("äöüß", longest: 7) == "äö…")
        // An escape is not cut either.
        #expect(PrintableText.line("a\u{1B}b\u{1B}", longest: 10) == #"a\u{1B}…"#)
        #expect(PrintableText.line("\u{1B}\u{1B}", longest: 8) == "…")
        for limit in 4...40 {
            let text = PrintableText.line(String(repeating: "x\u{7}é😀", count: 100), longest: limit)
            #expect(text.utf8.count <= limit && text.last == "…")
        }
    }

    @Test func `invalid bytes are replaced, and documents keep their lines`() {
        #expect(PrintableText.line(bytes: [0x41, 0xFF, 0x0D]) == "A\u{FFFD}\\u{D}")
        #expect(PrintableText.document("a\n\tb\u{1B}\r\n") == "a\n\tb\\u{1B}\\u{D}\n")
        #expect(PrintableText.document(json: "{\n\"\u{9B}\u{202E}\"}") == "{\n\"\\u009b\\u202e\"}")
    }
}
