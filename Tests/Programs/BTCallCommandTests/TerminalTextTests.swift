import CommandKit
import ControlLoop
import Testing

@testable import BTCallCommand

struct TerminalTextTests {
    @Test(arguments: [("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本語", 6), ("한국", 4), ("😀", 2), ("…", 1), ("", 0)])
    func `Columns are counted as terminals do`(_ text: String, _ columns: Int) {
        #expect(TerminalText.columns(text) == columns)
    }

    @Test func `A text is cut off or padded to its columns`() {
        #expect(TerminalText.fitted("headset", 9) == "headset  ")
        #expect(TerminalText.fitted("headset", 7) == "headset")
        #expect(TerminalText.fitted("headset", 5) == "head…")
        // A wide character is not split.
        #expect(TerminalText.fitted("日本語", 4) == "日… ")
        #expect(TerminalText.fitted("e\u{301}e\u{301}", 1) == "…")
        #expect(TerminalText.clipped("abc", 0) == "")
    }

    @Test func `Words are kept whole unless they are longer than a line`() {
        #expect(TerminalText.wrapped("one two three", 7) == ["one two", "three"])
        #expect(TerminalText.wrapped("a abcdefgh b", 4) == ["a", "abcd", "efgh", "b"])
        #expect(TerminalText.wrapped("日本語", 2) == ["日", "本", "語"])
        #expect(TerminalText.wrapped("日本", 1) == ["日", "本"])
        #expect(TerminalText.wrapped("", 10) == [])
    }

    @Test(arguments: [
        ("q", "q"), ("\u{1B}[Aq", "q"), ("\u{1B}[1;5Cm\u{1B}OPq", "mq"), ("\u{1B}", ""), ("\u{1B}\u{1B}[200~q", "q"),
        ("\u{1B}mq", "q"),
    ])
    @ControlPlane func `Keys that produce no character are skipped`(_ sent: String, _ expected: String) {
        #expect(String(TerminalScreen.keys(sent.utf8)) == expected)
    }
}
