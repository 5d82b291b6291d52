import JSONText

/// A JSON text, read with all rules: a value is the same after being written and read again, and a wider rule accepts what a
/// stricter one accepts.
enum JSONTarget {
    private static let narrow = JSONRules(bytes: 200, depth: 4, numberLength: 8)

    static func run(_ input: [UInt8]) throws(BrokenRule) {
        let strict = try read(input, JSONRules())
        let lenient = try read(input, JSONRules(duplicates: .kept, malformedText: .replaced))
        let small = try read(input, narrow)
        if let strict { try require(lenient == strict, "lenient rules read \(String(describing: lenient?.text()))") }
        if let small { try require(strict == small, "narrow rules read \(small.text())") }
        if let small { try require(depth(of: small) <= narrow.depth, "\(small.text()) is too deep") }
    }

    /// - Returns: nil when it is refused.
    private static func read(_ input: [UInt8], _ rules: JSONRules) throws(BrokenRule) -> JSON? {
        let value: JSON
        do throws(JSONError) {
            value = try JSON(reading: input, rules: rules)
        } catch {
            let before = input.prefix(error.offset)
            try require(before.count == error.offset, "a problem behind the end: \(error)")
            try require(before.count { $0 == UInt8(ascii: "\n") } + 1 == error.line, "another line: \(error)")
            try require((1...error.offset + 1).contains(error.column), "another column: \(error)")
            return nil
        }
        for layout in [JSON.Layout.compact, .spaced, .indented] {
            let text = value.text(layout)
            let isShown = text.unicodeScalars.allSatisfy { $0.isShown || layout == .indented && $0 == "\n" }
            try require(isShown, "a terminal does not show \(text)")
            var again: JSON?
            do throws(JSONError) {
                again = try JSON(reading: Array(text.utf8), rules: JSONRules(duplicates: rules.duplicates))
            } catch {
                throw BrokenRule("what is written is refused: \(error): \(text)")
            }
            try require(again == value, "another value is read again: \(text)")
        }
        return value
    }

    private static func depth(of value: JSON) -> Int {
        switch value {
        case .array(let elements): 1 + (elements.map { depth(of: $0) }.max() ?? 0)
        case .object(let members): 1 + (members.map { depth(of: $0.value) }.max() ?? 0)
        case .null, .bool, .integer, .number, .string: 0
        }
    }
}
