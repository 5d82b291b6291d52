/// Reads a fuzzer's input piece by piece; after its end everything is zero.
struct StepReader {
    private var rest: ArraySlice<UInt8>

    init(_ input: [UInt8]) {
        rest = input[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func below(_ bound: Int) -> Int { Int(byte()) % bound }

    mutating func flag() -> Bool { byte() & 1 == 1 }

    /// Reads a length, 0…`limit`, and as many bytes.
    mutating func bytes(limit: Int) -> [UInt8] {
        let part = rest.prefix(below(limit + 1))
        rest = rest.dropFirst(part.count)
        return Array(part)
    }
}
