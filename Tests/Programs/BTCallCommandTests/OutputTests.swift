import CommandKit
import ControlLoop
import JSONText
import Testing

@testable import BTCallCommand

@Suite struct OutputTests {
    @Test func `JSON keeps the order of keys, escapes text and writes missing values as null`() {
        let json: JSON = [
            "b": JSON(nil as String?), "a": [1, true, []], "text": "\"\\\n\u{1}\u{E9}", "number": .number(1.5),
            "o": [:],
        ]
        #expect(json.text() == #"{"b":null,"a":[1,true,[]],"text":"\"\\\n\u0001é","number":1.5,"o":{}}"#)
        #expect((["x": [1]] as JSON).text(.indented) == "{\n  \"x\": [\n    1\n  ]\n}")
    }

    @Test func `Times are ISO 8601 in UTC with milliseconds`() {
        #expect(WallClock(milliseconds: 1_709_251_445_006).iso8601 == "2024-03-01T00:04:05.006Z")
    }

    @Test func `Columns are aligned, without trailing spaces`() {
        var table = Table("A", "LONG", "C")
        table.add("wide cell", "x", "")
        #expect(table.lines == ["A          LONG  C", "wide cell  x"])
    }

    @Test(arguments: [
        (0, "..........  silent"), (32767, "##########    0 dB"), (8192, "########..  -12 dB"),
        (1, "..........  -90 dB"),
    ])
    func `Levels have a bar of 6 dB steps`(peak: Int, text: String) {
        #expect(TestCallReport.meter(peak) == text)
    }
}
