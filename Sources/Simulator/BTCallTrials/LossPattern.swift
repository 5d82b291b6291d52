/// Which packets of a link do not arrive.
package struct LossPattern: Sendable {
    package var name: String
    /// Of all packets, how many are lost in the mean.
    package var percent: Int
    /// Packets lost one after the other, equally often.
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
        // A burst begins after so many others that the share is as wanted; at least one packet arrives between two.
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
