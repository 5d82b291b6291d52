import JSONText
import Testing

@Suite struct WritingTests {
    private static let value: JSON = [
        "b": .null, "a": [1, true, [], [:]], "text": "\"\\\n\u{1}\u{E9}", "number": .number(1.5), "o": ["x": [-1]],
    ]

    @Test func `the compact layout is one line without spaces`() {
        #expect(
            Self.value.text() == #"{"b":null,"a":[1,true,[],{}],"text":"\"\\\n\u0001é","number":1.5,"o":{"x":[-1]}}"#)
    }

    @Test func `the spaced layout has a space after each comma and colon`() {
        #expect(
            Self.value.text(.spaced)
                == #"{"b": null, "a": [1, true, [], {}], "text": "\"\\\n\u0001é", "number": 1.5, "o": {"x": [-1]}}"#)
    }

    @Test func `the indented layout has two spaces per level, and nothing in empty values`() {
        #expect(
            (["a": [1, []], "b": ["c": [:]]] as JSON).text(.indented) == """
                {
                  "a": [
                    1,
                    []
                  ],
                  "b": {
                    "c": {}
                  }
                }
                """)
    }

    @Test(arguments: [
        (JSON.integer(.max), "9223372036854775807"), (.integer(.min), "-9223372036854775808"), (.number(1), "1.0"),
        (.number(0.1), "0.1"), (.number(-1e300), "-1e+300"), (.number(.infinity), "null"), (.number(.nan), "null"),
        (JSON(nil as String?), "null"), (JSON(nil as Int?), "null"), (JSON(UInt64.max), "1.8446744073709552e+19"),
        (JSON(7 as UInt8), "7"), (JSON(["a", "b"]), #"["a","b"]"#), (JSON(false), "false"),
    ])
    func `numbers are exact, and infinity and NaN are null`(value: JSON, text: String) {
        #expect(value.text() == text)
    }

    @Test(arguments: [
        ("plain ~", #""plain ~""#), ("\t\r\n\u{8}\u{C}\0", #""\t\r\n\u0008\u000c\u0000""#), ("/", #""/""#),
        ("\u{7F}\u{9B}\u{1B}[2J", #""\u007f\u009b\u001b[2J""#), ("\u{202E}\u{2028}", #""\u202e\u2028""#),
        ("\u{E0041}\u{10FFFF}", #""\udb40\udc41\udbff\udfff""#), ("Ärger 日本 😀", #""Ärger 日本 😀""#),
        ("e\u{301}", "\"e\u{301}\""),
    ])
    func `characters that a terminal does not show are escaped`(text: String, written: String) throws {
        #expect(JSON.string(text).text() == written)
        #expect(try JSON(reading: Array(written.utf8)).stringValue.map { Array($0.utf8) } == Array(text.utf8))
        let name = JSON([(text, 1)])
        #expect(name.text() == "{\(written):1}")
    }

    @Test func `each character is written so that it is read back, with none below 0x20 or of C1 unescaped`() throws {
        for value in UInt32(0)...0x10FFFF {
            guard let scalar = Unicode.Scalar(value) else { continue }
            var text = ""
            JSON.write(String(scalar), to: &text)
            let isRaw = text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
            guard !isRaw, try JSON(reading: Array(text.utf8)).stringValue?.unicodeScalars.first == scalar else {
                Issue.record("\(String(value, radix: 16)): \(text)")
                return
            }
        }
    }
}
