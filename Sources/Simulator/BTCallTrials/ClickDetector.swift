/// Finds clicks: places where the wave bends far more sharply than the reference does nearby.
package enum ClickDetector {
    /// Factor above the sharpest natural bend nearby from which a bend counts.
    package static let factor = 2
    /// Least size of a click: 20 dB below ordinary speech it is inaudible.
    package static let least = 600

    /// The places of clicks in `samples`; one for several within 4 ms of each other.
    ///
    /// - Parameters:
    ///   - reference: the same audio without loss, frame by frame.
    package static func clicks(in samples: [Int16], reference: [Int16], rate: Int) -> [Int] {
        let near = rate / 50
        let natural = widened(bends(reference), by: near)
        var result: [Int] = []
        for (index, bend) in bends(samples).enumerated() where bend > max(least, factor * natural[index]) {
            if let last = result.last, index - last < rate / 250 { continue }
            result.append(index)
        }
        return result
    }

    private static func bends(_ samples: [Int16]) -> [Int] {
        samples.indices.map { index in
            if index == 0 || index == samples.count - 1 { return 0 }
            return Int((Int(samples[index - 1]) - 2 * Int(samples[index]) + Int(samples[index + 1])).magnitude)
        }
    }

    /// The largest value within `reach` places on either side.
    private static func widened(_ values: [Int], by reach: Int) -> [Int] {
        // Computed by blocks, to stay linear: the result reaches up to twice as far.
        let blocks = stride(from: 0, to: values.count, by: reach).map { start in
            values[start..<min(start + reach, values.count)].max() ?? 0
        }
        return values.indices.map { index in
            let block = index / reach
            return blocks[max(0, block - 1)...min(blocks.count - 1, block + 1)].max() ?? 0
        }
    }
}
