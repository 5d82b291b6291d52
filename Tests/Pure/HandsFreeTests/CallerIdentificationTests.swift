import HandsFree
import Telephony
import Testing

/// Names and numbers come from the remote party. Whatever they contain, a headset must read the line as intended: in one
/// piece, with the line's number of parameters, and with the text nowhere else.
@Suite struct CallerIdentificationTests {
    private static let number = "+49301234"
    private static let name = "Anna B"

    /// All lines that may contain external text.
    private static func lines(number: String?, name: String?) -> [ATResultCode] {
        let details = CallDetails(number: number, name: name)
        let call = Call(
            id: CallID(1), provider: "p", direction: .incoming, state: .active, details: details, index: 1)
        return [
            .callerIdentification(number: number, name: name), .callWaiting(number: number, name: name),
            .callerIdentification(number: number, type: 145, name: name),
            .callWaiting(number: number, type: 161, name: name), .currentCall(call),
            .subscriberNumber(SubscriberNumber(number: number ?? "")), .voiceTag(number ?? ""),
            .networkOperator(name), .appleAccessory(name: name ?? "", features: 6), .information(name ?? ""),
        ]
    }

    /// Parses a line as a headset does (3GPP TS 27.007 §4); nil for a broken one.
    ///
    /// - Parameter bytes: as sent.
    private static func parameters(_ bytes: [UInt8]) -> [String]? {
        guard bytes.starts(with: [0x0D, 0x0A]), bytes.suffix(2) == [0x0D, 0x0A] else { return nil }
        let line = Array(bytes.dropFirst(2).dropLast(2))
        guard !line.contains(where: { $0 < 0x20 || $0 == 0x7F }), let text = String(validating: line, as: UTF8.self),
            !text.unicodeScalars.contains(where: { (0x80...0x9F).contains($0.value) || $0.value & ~1 == 0x2028 })
        else { return nil }
        var parameters = [""]
        var rest = text.unicodeScalars.drop { $0 != ":" && $0 != "=" }.dropFirst().drop { $0 == " " }
        while let next = rest.popFirst() {
            switch next {
            case ",": parameters.append("")
            case "\"":
                // A string is a whole parameter.
                guard parameters.last == "", let end = rest.firstIndex(of: "\"") else { return nil }
                parameters[parameters.count - 1] = "“\(String(rest[..<end]))”"
                rest = rest[rest.index(after: end)...]
                guard rest.isEmpty || rest.first == "," else { return nil }
            default: parameters[parameters.count - 1].unicodeScalars.append(next)
            }
        }
        return parameters
    }

    /// - Returns: the problem of a line that contains `text`.
    private static func mistakes(_ text: String, number: Bool, name: Bool) -> [String] {
        let harmless = lines(number: number ? Self.number : nil, name: name ? Self.name : nil)
        let codes = lines(number: number ? text : nil, name: name ? text : nil)
        return zip(codes, harmless).compactMap { code, model in
            guard let found = parameters(code.bytes), let count = parameters(model.bytes)?.count else {
                return "broken: \(code.text.debugDescription)"
            }
            if case .information = code { return code.text.contains("\"") ? "a quote: \(code.text)" : nil }
            // An empty number or name is left out by +CLCC and +CLIP.
            let isLeftOut = ATText.number(text).isEmpty || ATText.name(text).isEmpty
            guard found.count == count || isLeftOut && found.count < count else {
                return "\(found) from \(text.debugDescription)"
            }
            let quotes = found.count { $0.hasPrefix("“") }
            return quotes <= 2 ? nil : "\(quotes) strings: \(code.text)"
        }
    }

    private static func mistakes(_ bytes: [UInt8], in text: String) -> [String] {
        let text = Array(text.utf8)
        return (0...text.count).flatMap { position in
            let mixed = Array(text[..<position]) + bytes + Array(text[position...])
            let whole = String(decoding: mixed, as: UTF8.self)
            return mistakes(whole, number: false, name: true) + mistakes(whole, number: true, name: false)
                + mistakes(whole, number: true, name: true)
        }
    }

    @Test func `no byte at any place of a name or number ends a line or a string`() {
        for byte in UInt8.min...UInt8.max {
            #expect(Self.mistakes([byte], in: Self.name) == [], "\(byte)")
            #expect(Self.mistakes([byte], in: Self.number) == [], "\(byte)")
            // The character of this number, too.
            let character = Array(String(Character(Unicode.Scalar(byte))).utf8)
            #expect(Self.mistakes(character, in: Self.name) == [], "U+\(byte)")
        }
    }

    @Test func `no pair of bytes does`() {
        let interesting: [UInt8] = [0, 9, 10, 13, 26, 27, 34, 39, 44, 58, 59, 61, 63, 92, 127, 0xC2, 0xE2]
        for first in UInt8.min...UInt8.max {
            for second in interesting {
                for pair in [[first, second], [second, first]] {
                    let text = String(decoding: pair, as: UTF8.self)
                    #expect(Self.mistakes(text, number: true, name: true) == [], "\(pair)")
                }
            }
        }
    }

    @Test func `no character that ends lines or changes their direction gets through`() {
        for value in Array(0x80...0x9F) + Array(0x2028...0x202E) + Array(0x2066...0x2069) + [0x200E, 0x200F, 0xFEFF] {
            guard let scalar = Unicode.Scalar(UInt32(value)) else { continue }
            let text = "An" + String(Character(scalar)) + "na"
            #expect(ATText.name(text) == "Anna", "\(value)")
            #expect(Self.mistakes(text, number: true, name: true) == [])
        }
    }

    @Test func `the parser of this test detects the faults of a bad line`() {
        #expect(Self.parameters(Array("\r\n+CLIP: \"1\",129,,,\"A, B\"\r\n".utf8)) == ["“1”", "129", "", "", "“A, B”"])
        for text in [
            "+CLIP: \"1\",129", "\r\n+CLIP: \"1\r\n", "\r\n+CLIP: \"1\"x,2\r\n", "\r\n+CLIP: x\"1\"\r\n",
            "\r\nRING\r\nOK\r\n", "\r\n\u{85}\r\n",
        ] {
            #expect(Self.parameters(Array(text.utf8)) == nil, "\(text.debugDescription)")
        }
    }
}
