/// A pattern of lost packets on a link.
package struct LossPattern: Sendable {
    package var name: String
    /// Mean share of lost packets in per cent.
    package var percent: Int
    /// Number of consecutive lost packets, each equally likely.
    package var burst: ClosedRange<Int>?

    package static func random(_ percent: Int) -> LossPattern {
        LossPattern(name: "\(percent) % random", percent: percent)
    }

    package static func bursts(_ percent: Int, of burst: ClosedRange<Int>) -> LossPattern {
        let length = burst.count == 1 ? "\(burst.lowerBound)" : "\(burst.lowerBound)-\(burst.upperBound)"
        return LossPattern(name: "\(percent) % bursts of \(length)", percent: percent, burst: burst)
    }

    /// - Parameter spared: packets at the beginning that always arrive.
    package func losses(packets: Int, spared: Int, seed: UInt64) -> [Bool] {
        var random = SeededRandom(seed)
        var result = [Bool](repeating: false, count: packets)
        var index = spared
        // The interval between bursts gives the requested share; at least one packet arrives between two.
        let mean = burst.map { Double($0.lowerBound + $0.upperBound) / 2 } ?? 1
        let share = Double(percent) / 100
        let chance = share / (mean * (1 - share))
        while index < packets {
            if burst == nil {
                result[index] = Double.random(in: 0..<1, using: &random) < share
            } else if let burst, !result[index - 1], Double.random(in: 0..<1, using: &random) < chance {
                let end = min(packets, index + Int.random(in: burst, using: &random))
                for lost in index..<end { result[lost] = true }
                index = end
            }
            index += 1
        }
        return result
    }
}
