import CDBus
import TestSupport
import Testing

@testable import DBus

struct SignatureTests {
    @Test(arguments: ["", "y", "a{sv}", "oha{sv}", "a{oa{sa{sv}}}", "(ii)a(yv)", "aaas", "ybnqiuxtdsoghv"])
    func `a valid signature is read and written back`(text: String) throws {
        #expect(try Signature(text).description == text)
    }

    @Test(
        arguments: [
            "a", "(", ")", "()", "{sv}", "a{s}", "a{svv}", "a{vs}", "a{(i)s}", "a{asv}", "z", "e", "r", "a{sv", "(i",
            "é",
            "s\0", "a{}",
        ])
    func `an invalid signature is refused without a trap`(text: String) {
        #expect(throws: BusError.self) { try Signature(text) }
    }

    @Test func `depth and length are limited as the specification says`() throws {
        _ = try Signature(String(repeating: "a", count: 32) + "y")
        #expect(throws: BusError.self) { try Signature(String(repeating: "a", count: 33) + "y") }
        _ = try Signature(String(repeating: "(", count: 32) + "y" + String(repeating: ")", count: 32))
        #expect(throws: BusError.self) {
            try Signature(String(repeating: "(", count: 33) + "y" + String(repeating: ")", count: 33))
        }
        _ = try Signature(String(repeating: "y", count: 255))
        #expect(throws: BusError.self) { try Signature(String(repeating: "y", count: 256)) }
        #expect(throws: BusError.self) { try Signature(String(repeating: "(", count: 100_000)) }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `random texts are judged as by libdbus`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let letters = Array("ybnqiuxtdsoghva{}()aaa(((){sv}e")
        for _ in 0..<5000 {
            let length = Int.random(in: 0..<12, using: &random)
            let text = String((0..<length).map { _ in letters.randomElement(using: &random) ?? "y" })
            let accepted = (try? Signature(text)) != nil
            #expect(accepted == (dbus_signature_validate(text, nil) != 0), "\(text)")
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `random nested types survive a round trip`(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<200 {
            let type = Self.type(depth: 5, &random)
            let text = type.description
            guard text.utf8.count <= 255 else { continue }
            #expect(dbus_signature_validate(text, nil) != 0)
            #expect(try Signature.CompleteType(text) == type)
        }
    }

    static func type(depth: Int, _ random: inout SeededGenerator) -> Signature.CompleteType {
        let basic: [Signature.CompleteType] = [
            .byte, .boolean, .int16, .uint16, .int32, .uint32, .int64, .uint64, .double, .string, .objectPath,
            .signature,
        ]
        let simple = basic.randomElement(using: &random) ?? .byte
        guard depth > 0 else { return simple }
        switch Int.random(in: 0..<6, using: &random) {
        case 0: return .array(type(depth: depth - 1, &random))
        case 1:
            return .structure((0...Int.random(in: 0..<3, using: &random)).map { _ in type(depth: depth - 1, &random) })
        case 2: return .dictionary(key: simple, value: type(depth: depth - 1, &random))
        case 3: return .variant
        default: return simple
        }
    }
}
