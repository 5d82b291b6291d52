/// Samples prepared for many comparisons: the energy of any range takes two look-ups.
struct AnalysedSignal: Sendable {
    private let samples: [Float]
    /// Cumulative energy before each sample.
    private let sums: [Double]

    var count: Int { samples.count }

    init(_ samples: [Int16]) {
        self.samples = samples.map(Float.init)
        var sum = 0.0
        var sums = [0.0]
        sums.reserveCapacity(samples.count + 1)
        for sample in samples {
            sum += Double(sample) * Double(sample)
            sums.append(sum)
        }
        self.sums = sums
    }

    func energy(_ start: Int, _ count: Int) -> Float { Float(sums[start + count] - sums[start]) }

    /// Sum of products of `count` samples from `start` with those of the other signal; 0 when either signal is too short.
    func product(_ start: Int, _ other: AnalysedSignal, _ otherStart: Int, _ count: Int) -> Float {
        guard start >= 0, otherStart >= 0, start + count <= samples.count, otherStart + count <= other.samples.count
        else {
            return 0
        }
        return samples.withUnsafeBytes { left in
            other.samples.withUnsafeBytes { right in
                let size = MemoryLayout<Float>.size
                var sums = SIMD8<Float>.zero
                var offset = 0
                while offset + 8 <= count {
                    let a = left.loadUnaligned(fromByteOffset: (start + offset) * size, as: SIMD8<Float>.self)
                    let b = right.loadUnaligned(fromByteOffset: (otherStart + offset) * size, as: SIMD8<Float>.self)
                    sums += a * b
                    offset += 8
                }
                var sum = sums.sum()
                while offset < count {
                    sum += samples[start + offset] * other.samples[otherStart + offset]
                    offset += 1
                }
                return sum
            }
        }
    }
}
