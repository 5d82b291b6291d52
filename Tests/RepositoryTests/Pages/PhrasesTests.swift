import Foundation
import TestSupport
import Testing

/// Phrases that have to be decoded: in comments, on pages and in the texts that programs print.
@Suite struct PhrasesTests {
    private static let phrases = [
        "is another", "are another", "is there", "are there", "is not there", "are not there", "by itself",
        "by themselves", "all the same", "anew", "whoever", "what is told of", "what is said of", "what is heard of",
        "what is shown of", "what is asked of", "what is known of", "that there is not", "is told of", "patience",
        "farewell", "wish", "wishes",
    ]

    /// The most that are meant, in the whole repository.
    private static let most = 60

    /// Where a phrase is meant, by file and phrase, and how often. Add one with its reason, for example a quotation.
    private static let meant: [String: [String: Int]] = [:]

    @Test func `a phrase is found over the end of a line, and not over that of a sentence`() {
        let comments = """
            /// A headset that is
            /// not there, by itself. It is. Another one is there.
            let patience = wish  // All the same: anew.
            /// A headsetWish is
            func run() { "another is anew" }
            """
        let prose = Prose(path: "", lines: Prose.comments(in: comments, marker: "//"))
        #expect(
            prose.count(Self.phrases) == [
                "is not there": 1, "by itself": 1, "is there": 1, "all the same": 1, "anew": 1,
            ])
        #expect(prose.count(["is told"]) == [:])
        let code = Prose(path: "", lines: Prose.page("a `wish` and `patience`, is `A` another wish"))
        #expect(code.count(Self.phrases) == ["wish": 1])
        #expect(
            Prose(path: "", lines: Prose.page("What is told of a call. It is told of it.")).count(Self.phrases) == [
                "what is told of": 1, "is told of": 1,
            ])
    }

    @Test func `texts are found between quotation marks and in blocks`() {
        let source = #"""
            let one = "a headset is not there" + "x"
            // "a comment"
            let two = """
                it comes
                by itself
                """
            let three = "say \"by itself\" now"
            """#
        let prose = Prose(path: "", lines: Prose.literals(in: source))
        #expect(prose.lines.map(\.number) == [1, 4, 5, 7])
        #expect(prose.count(Self.phrases) == ["is not there": 1, "by itself": 2])
    }

    @Test func `comments of scripts begin with a hash, and the first line is none`() {
        let script = "#!/bin/sh\n# Starts anew.\nrun  # by itself\necho '#anew'\n"
        let prose = Prose(path: "", lines: Prose.comments(in: script, marker: "#"))
        #expect(prose.lines.map(\.number) == [2, 3])
        #expect(prose.count(Self.phrases) == ["anew": 1, "by itself": 1])
    }

    @Test func `nothing has to be decoded`() throws {
        var total = 0
        var unused = Set(Self.meant.flatMap { file in file.value.keys.map { "\(file.key): \($0)" } })
        let all = try Prose.all(withTexts: true)
        #expect(all.count > 900)
        // The list of phrases is in this file, and in the samples above.
        for prose in all where !prose.path.hasSuffix("/PhrasesTests.swift") {
            for (phrase, count) in prose.count(Self.phrases).sorted(by: { $0.key < $1.key }) {
                total += count
                unused.remove("\(prose.path): \(phrase)")
                let meant = Self.meant[prose.path]?[phrase] ?? 0
                #expect(count == meant, "\(prose.path): “\(phrase)” occurs \(count) times, and \(meant) are meant")
            }
        }
        #expect(total <= Self.most)
        #expect(unused == [], "not there any more")
    }
}
