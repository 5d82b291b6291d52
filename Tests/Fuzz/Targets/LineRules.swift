import HandsFree

/// Rules for every line to a headset, regardless of its input (HFP 1.9 §4.34.1, 3GPP TS 27.007 §4).
enum LineRules {
    /// Longest line in bytes: names and numbers are truncated before.
    static let limit = 200

    static func check(_ code: ATResultCode) throws(BrokenRule) {
        let bytes = code.bytes
        try require(
            bytes.count > 4 && bytes.starts(with: [0x0D, 0x0A]) && bytes.suffix(2) == [0x0D, 0x0A],
            "a line has text in a frame of CR LF: \(bytes)")
        let text = bytes.dropFirst(2).dropLast(2)
        try require(text.count <= limit, "a line has at most \(limit) bytes: \(code.text)")
        try require(
            !code.text.unicodeScalars.contains { scalar in
                scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                    || (0x2028...0x2029).contains(scalar.value)
            }, "nothing in a line ends it: \(code.text.debugDescription)")
        try checkQuotes(text)
    }

    /// A string begins after a separator and ends before one: it contains no quote.
    private static func checkQuotes(_ text: ArraySlice<UInt8>) throws(BrokenRule) {
        var isQuoted = false
        for index in text.indices where text[index] == UInt8(ascii: "\"") {
            if isQuoted {
                let next = index + 1 < text.endIndex ? text[index + 1] : UInt8(ascii: ",")
                try require(
                    next == UInt8(ascii: ",") || next == UInt8(ascii: ")"),
                    "a string ends before a comma: \(String(decoding: text, as: UTF8.self))")
            } else {
                let previous = index > text.startIndex ? text[index - 1] : 0
                try require(
                    " ,(".utf8.contains(previous),
                    "a string begins after a comma: \(String(decoding: text, as: UTF8.self))")
            }
            isQuoted.toggle()
        }
        try require(!isQuoted, "a string has an end: \(String(decoding: text, as: UTF8.self))")
    }
}
