import JSONText
import Testing

@Suite struct ReadingTests {
    private func read(_ text: String, _ rules: JSONRules = JSONRules()) throws(JSONError) -> JSON {
        try JSON(reading: Array(text.utf8), rules: rules)
    }

    private func problem(_ text: String, _ rules: JSONRules = JSONRules()) -> JSONError? {
        do throws(JSONError) {
            _ = try read(text, rules)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (" null ", JSON.null), ("true", true), ("[false]", [false]), ("{}", [:]), ("[]", []), (" [ ] ", []),
            ("{\r\n\t}", [:]), ("\"\"", ""), ("\u{FEFF}1", 1), ("\"\u{7F}\u{9B}\"", "\u{7F}\u{9B}"),
            (#"{"a":"b","c":[1,{"d":null}]}"#, ["a": "b", "c": [1, ["d": JSON.null]]]),
            (#"{ "b" : 1 , "a" : 2 }"#, ["b": 1, "a": 2]), (#"{"":{"":[]}}"#, ["": ["": []]]),
            (#""\"\\\/\b\f\n\r\t\u00C4\ud83d\uDE00\u0000""#, "\"\\/\u{8}\u{C}\n\r\tÄ😀\0"),
            (#""Ä\u00e9😀\n""#, "Äé😀\n"),
        ] as [(String, JSON)])
    func `every kind of value is read`(text: String, value: JSON) throws {
        #expect(try read(text) == value)
    }

    @Test(arguments: [
        ("0", JSON.integer(0)), ("-0", .integer(0)), ("10", .integer(10)), ("-7", .integer(-7)),
        ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
        ("9007199254740993", .integer(9_007_199_254_740_993)),
        ("9223372036854775808", .number(9_223_372_036_854_775_808)),
        ("-9223372036854775809", .number(-9_223_372_036_854_775_808)), ("1.0", .number(1)), ("1e3", .number(1000)),
        ("-0.5e+3", .number(-500)), ("0.1", .number(0.1)), ("1E-2", .number(0.01)), ("1e-999", .number(0)),
        ("0e0", .number(0)), ("5e-324", .number(.leastNonzeroMagnitude)),
        ("1.7976931348623157e308", .number(.greatestFiniteMagnitude)),
    ])
    func `a whole number within Int64 is exact, any other is a Double`(text: String, value: JSON) throws {
        #expect(try read(text) == value)
    }

    @Test(arguments: [
        ("", 0, "a value expected, but it ends"), ("  ", 2, "a value expected, but it ends"),
        ("{", 1, "a key in quotes expected, but it ends"), ("[1,]", 3, "a value expected, not ']'"),
        ("[1", 2, "',' or ']' expected, but it ends"), ("{\"a\"}", 4, "':' expected, not '}'"),
        ("{\"a\":1,}", 7, "a key in quotes expected, not '}'"), ("{1:2}", 1, "a key in quotes expected, not '1:2}'"),
        ("{\"a\":1 \"b\"}", 7, "',' or '}' expected, not '\"b\"}'"), ("[1 2]", 3, "',' or ']' expected, not '2]'"),
        ("01", 0, "a value expected, not '01'"), ("-01", 0, "a value expected, not '-01'"),
        ("1.", 0, "a value expected, not '1.'"), ("1.e5", 0, "a value expected, not '1.e5'"),
        ("+1", 0, "a value expected, not '+1'"), (".5", 0, "a value expected, not '.5'"),
        ("-", 0, "a value expected, not '-'"), ("1e", 0, "a value expected, not '1e'"),
        ("1e+", 0, "a value expected, not '1e+'"), ("1e999", 0, "a value expected, not '1e999'"),
        ("NaN", 0, "a value expected, not 'NaN'"), ("tru", 0, "a value expected, not 'tru'"),
        ("nulL", 0, "a value expected, not 'nulL'"), ("'a'", 0, "a value expected, not ''a''"),
        ("1 2", 2, "something stands behind the end"), ("{}}", 2, "something stands behind the end"),
        ("\"a", 2, "'\"' expected, but it ends"), ("\"a\\n", 4, "'\"' expected, but it ends"),
        ("\"\\", 2, "an escape expected, but it ends"),
        ("\"\\x\"", 2, "one of \" \\ / b f n r t u behind '\\' expected, not 'x\"'"),
        ("\"\\u00g0\"", 3, "four hexadecimal digits expected, not '00g0\"'"),
        ("\"\\u00", 3, "four hexadecimal digits expected, not '00'"),
        ("\"a\nb\"", 2, "a text that goes over the end of the line, or has a control character"),
        ("\"\\t\u{1}\"", 3, "a text that goes over the end of the line, or has a control character"),
    ])
    func `invalid JSON is refused at the first wrong byte`(text: String, offset: Int, message: String) {
        let problem = problem(text)
        #expect(problem?.offset == offset)
        #expect(problem?.problem.description == message)
    }

    @Test func `a problem has its line and column, counted from 1`() {
        let problem = problem("{\r\n  \"Ä\": 1,\n  \"b\" 2}")
        #expect(problem?.line == 3 && problem?.column == 7 && problem?.offset == 20)
        #expect(problem?.description == "line 3, column 7: ':' expected, not '2}'")
        #expect(self.problem("")?.description == "line 1, column 1: a value expected, but it ends")
    }

    @Test func `the unexpected text is shown in at most 20 bytes`() {
        let text = String(repeating: "x", count: 1000)
        #expect(problem(text)?.problem == .expected("a value", found: String(repeating: "x", count: 20)))
        #expect(problem(",")?.problem == .expected("a value", found: ","))
    }

    @Test func `lists and objects are nested as deep as allowed and no deeper`() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = open == "[" ? "" : "1"
            let text = { (count: Int) in
                String(repeating: open, count: count) + inner + String(repeating: close, count: count)
            }
            _ = try read(text(64))
            #expect(problem(text(65))?.problem == .tooDeep(limit: 64))
            _ = try read(text(3), JSONRules(depth: 3))
            #expect(problem(text(4), JSONRules(depth: 3))?.problem == .tooDeep(limit: 3))
            #expect(problem(String(repeating: open, count: 1_000_000))?.problem == .tooDeep(limit: 64))
        }
        #expect(try read("[[],[],[]]", JSONRules(depth: 2)) == [[], [], []])
    }

    @Test func `a text and a number are as long as allowed and no longer`() throws {
        #expect(try read("[1, 2]", JSONRules(bytes: 6)) == [1, 2])
        #expect(problem("[1, 2] ", JSONRules(bytes: 6))?.problem == .tooLong(limit: 6))
        #expect(try read("-1.25", JSONRules(numberLength: 5)) == .number(-1.25))
        #expect(problem("[-1.250]", JSONRules(numberLength: 5))?.problem == .numberTooLong(limit: 5))
        #expect(problem("[-1.250]", JSONRules(numberLength: 5))?.offset == 1)
        #expect(problem(String(repeating: "1", count: 100_000))?.problem == .numberTooLong(limit: 1_100))
    }

    @Test(arguments: [2, 16, 17, 18, 1000])
    func `duplicate names are refused or kept`(count: Int) throws {
        let names = (1..<count).map { "\"\($0)\": \($0)" }
        let text = "{" + (names + ["\"1\": 0"]).joined(separator: ", ") + "}"
        #expect(problem(text)?.problem == .duplicateName("1"))
        let kept = try read(text, JSONRules(duplicates: .kept))
        let members = if case .object(let members) = kept { members } else { [JSON.Member]() }
        #expect(members.count == count && members.last == .init("1", 0))
        #expect(kept["1"] == 1)
        #expect(try read("{\(names.joined(separator: ","))}")["\(count - 1)"] == JSON(count - 1))
        // Another object may have it again.
        #expect(try read(#"{"a": {"a": [{"a": 1}, {"a": 2}]}}"#)["a"]?["a"] == [["a": 1], ["a": 2]])
    }

    @Test func `a string that is not UTF-8 is refused or replaced`() throws {
        for (bytes, text): ([UInt8], String) in [
            ([0xE9], "\u{FFFD}"), ([0xC0, 0x80], "\u{FFFD}\u{FFFD}"), ([0xED, 0xA0, 0x80], "\u{FFFD}\u{FFFD}\u{FFFD}"),
            ([0xC3], "\u{FFFD}"), (Array("\\n".utf8) + [0xFF], "\n\u{FFFD}"),
        ] {
            let quoted = [UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]
            #expect(throws: JSONError.self) { try JSON(reading: quoted) }
            #expect(try JSON(reading: quoted, rules: .lenient) == .string(text))
        }
        let named = Array(#"{"name":"Andr"#.utf8) + [0xE9] + Array("\"}".utf8)
        #expect(try JSON(reading: named, rules: .lenient)["name"]?.stringValue == "Andr\u{FFFD}")
    }

    @Test func `half a surrogate pair is refused or replaced`() throws {
        for text in [#""\ud83d""#, #""\ude00""#, #""\ud83dx""#, #""\ud83d\n""#, #""\ud83d\u0041""#, #""\ude00\ud83d""#]
        {
            #expect(problem(text)?.problem == .halfSurrogatePair)
        }
        #expect(
            try read(#""\ud83d \ude00 \ud83d\u0041\ud83d\ud83d\ude00""#, .lenient)
                == "\u{FFFD} \u{FFFD} \u{FFFD}A\u{FFFD}😀")
        #expect(problem(#""\ud83d\u12""#, .lenient)?.offset == 9)
    }

    @Test func `values are accessed by kind and name`() throws {
        let value = try read(#"{"flag": true, "text": "t", "whole": 7, "exponent": 7e0, "half": 0.5, "list": [1]}"#)
        #expect(value["flag"]?.boolValue == true && value["flag"]?.integerValue == nil)
        #expect(value["text"]?.stringValue == "t" && value["text"]?.boolValue == nil)
        #expect(value["whole"]?.integerValue == 7 && value["exponent"]?.integerValue == 7)
        for (number, whole): (Double, Int64?) in [
            (-0.0, 0), (-0x1p63, .min), (0x1p63, nil), (1e300, nil), (-1.5, nil), (.nan, nil), (-.infinity, nil),
        ] {
            #expect(JSON.number(number).integerValue == whole)
        }
        #expect(value["half"]?.integerValue == nil && value["half"]?.numberValue == 0.5)
        #expect(value["whole"]?.numberValue == 7 && value["whole"]?.stringValue == nil)
        #expect(value["list"]?["whole"] == nil && value["other"] == nil && value["list"]?.numberValue == nil)
    }
}
