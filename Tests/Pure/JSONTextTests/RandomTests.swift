import JSONText
import TestSupport
import Testing

/// Seeded: a failure names the seed to run again.
@Suite struct RandomTests {
    private static let rules = [JSONRules(), .lenient, JSONRules(bytes: 40, depth: 3, numberLength: 6)]

    @Test(arguments: 0..<40)
    func `written text is read back, in every layout`(_ seed: Int) throws {
        var generator = SeededGenerator(seed: UInt64(seed))
        for _ in 0..<50 {
            let value = value(depth: 5, &generator)
            for layout in [JSON.Layout.compact, .spaced, .indented] {
                let text = value.text(layout)
                #expect(try JSON(reading: Array(text.utf8)) == value, "\(text)")
                #expect(try JSON(reading: Array(text.utf8)).text(layout) == text)
            }
        }
    }

    @Test(arguments: 0..<10)
    func `a truncated text is refused at its end or within, and nothing traps`(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(1000 + seed))
        for _ in 0..<20 {
            let whole = JSON.array([value(depth: 4, &generator)])
            let bytes = Array(whole.text(.spaced).utf8)
            for count in bytes.indices {
                do throws(JSONError) {
                    let value = try JSON(reading: Array(bytes[..<count]))
                    Issue.record("\(value.text()) of \(whole.text())")
                } catch {
                    #expect((0...count).contains(error.offset))
                }
            }
        }
    }

    @Test(arguments: 0..<20)
    func `changed, missing or doubled bytes are read or refused, and nothing traps`(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(2000 + seed))
        let marks = Array("{}[]\",:\\u0d8e+-.\n \u{1}".utf8) + [0xFF, 0xC3, 0xED]
        for _ in 0..<300 {
            var bytes = Array(value(depth: 4, &generator).text().utf8)
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let index = Int.random(in: bytes.indices, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: bytes[index] = marks.randomElement(using: &generator) ?? 0
                case 1: bytes.remove(at: index)
                default: bytes.insert(contentsOf: bytes[index...].prefix(5), at: index)
                }
            }
            for rules in Self.rules { check(bytes, rules) }
        }
    }

    @Test(arguments: 0..<20)
    func `any bytes are read or refused, and nothing traps`(_ seed: Int) {
        var generator = SeededGenerator(seed: UInt64(3000 + seed))
        for _ in 0..<500 {
            let count = Int.random(in: 0..<40, using: &generator)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            for rules in Self.rules { check(bytes, rules) }
        }
    }

    /// A value that was read is read back after writing.
    private func check(_ bytes: [UInt8], _ rules: JSONRules) {
        do throws(JSONError) {
            let value = try JSON(reading: bytes, rules: rules)
            let text = value.text()
            #expect(throws: Never.self, "\(bytes)") {
                let again = try JSON(reading: Array(text.utf8), rules: JSONRules(duplicates: rules.duplicates))
                #expect(again == value, "\(bytes)")
            }
        } catch {
            #expect((0...bytes.count).contains(error.offset), "\(bytes)")
            #expect(error.line >= 1 && error.column >= 1 && error.column <= error.offset + 1, "\(bytes)")
        }
    }

    private func value(depth: Int, _ generator: inout SeededGenerator) -> JSON {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &generator))
        case 3: return .integer(Int64.random(in: -100...100, using: &generator))
        case 4:
            let number = Double(bitPattern: UInt64.random(in: .min ... .max, using: &generator))
            return .number(number.isFinite ? number : 0.25)
        case 5: return .string(text(&generator))
        case 6, 7:
            return .array(
                (0..<Int.random(in: 0..<5, using: &generator)).map { _ in value(depth: depth - 1, &generator) })
        default:
            // Names that differ only in their normal form count as the same, too.
            return .object(
                (0..<Int.random(in: 0..<25, using: &generator)).map { index in
                    JSON.Member("\(index)" + text(&generator), value(depth: depth - 2, &generator))
                })
        }
    }

    private func text(_ generator: inout SeededGenerator) -> String {
        let ranges: [ClosedRange<UInt32>] = [
            0...0x7F, 0x20...0x7E, 0x80...0x2FF, 0x2000...0x206F, 0xFE00...0xFFFF, 0...0x10FFFF,
        ]
        var text = ""
        for _ in 0..<Int.random(in: 0..<12, using: &generator) {
            let range = ranges.randomElement(using: &generator) ?? 0...0x7F
            guard let scalar = Unicode.Scalar(UInt32.random(in: range, using: &generator)) else { continue }
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}
