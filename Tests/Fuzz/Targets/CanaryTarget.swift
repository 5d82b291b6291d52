/// Makes mistakes that a run must detect, each for the input named after it; `Tests/Fuzz/fuzz --check`.
enum CanaryTarget {
    private final class Ring {
        var next: Ring?
        let bytes = [UInt8](repeating: 1, count: 1000)
    }

    nonisolated(unsafe) private static var kept: [[UInt8]] = []

    static func run(_ input: [UInt8]) throws(BrokenRule) {
        switch String(decoding: input, as: UTF8.self) {
        case "rule": throw BrokenRule("a rule")
        case "trap":
            let index = input.count
            kept.append([input[index]])
        case "hang": while kept.count >= 0 { kept = kept.reversed() }
        case "leak":
            let ring = Ring()
            ring.next = ring
        case "growth": kept.append([UInt8](repeating: input[0], count: 1000))
        case "memory": for _ in 0..<1_000_000 { kept.append([UInt8](repeating: input[0], count: 1000)) }
        default: break
        }
    }
}
