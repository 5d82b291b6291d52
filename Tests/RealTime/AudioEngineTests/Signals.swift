import Foundation

/// A tone of this many hertz, with an amplitude in 16 bit.
func tone(_ hertz: Double, rate: Int, amplitude: Double = 8_000) -> @Sendable (Int) -> Int16 {
    { Int16(amplitude * sin(2 * .pi * hertz * Double($0) / Double(rate))) }
}

/// Another tone out of eight every 20 ms, so that a lost or repeated piece is detected.
func countedTones(rate: Int) -> @Sendable (Int) -> Int16 {
    { sample in
        let step = sample / (rate / 50)
        return Int16(8_000 * sin(2 * .pi * countedFrequency(step) * Double(sample) / Double(rate)))
    }
}

func countedFrequency(_ step: Int) -> Double { 400 + 300 * Double(step % 8) }

/// Share of a piece's energy at one frequency.
func toneShare(_ samples: ArraySlice<Int16>, hertz: Double, rate: Int) -> Double {
    var real = 0.0
    var imaginary = 0.0
    var energy = 0.0
    for (index, sample) in samples.enumerated() {
        let angle = 2 * .pi * hertz * Double(index) / Double(rate)
        real += Double(sample) * cos(angle)
        imaginary += Double(sample) * sin(angle)
        energy += Double(sample) * Double(sample)
    }
    guard energy > 0 else { return 0 }
    return 2 * (real * real + imaginary * imaginary) / (energy * Double(samples.count))
}

/// Lowest tone share over windows that overlap by half; by default of 1/8 s.
func lowestToneShare(_ samples: ArraySlice<Int16>, hertz: Double, rate: Int, windowsPerSecond: Int = 8) -> Double {
    let window = rate / windowsPerSecond
    var lowest = 1.0
    var start = samples.startIndex
    while start + window <= samples.endIndex {
        lowest = min(lowest, toneShare(samples[start..<start + window], hertz: hertz, rate: rate))
        start += window / 2
    }
    return lowest
}

/// Steps of `countedTones` in order, each with its duration in milliseconds.
func heardSteps(_ samples: ArraySlice<Int16>, rate: Int) -> [(step: Int, milliseconds: Int)] {
    var result: [(step: Int, milliseconds: Int)] = []
    let hop = rate / 1_000 * 2
    let window = rate / 100
    var start = samples.startIndex
    while start + window <= samples.endIndex {
        let piece = samples[start..<start + window]
        let shares = (0..<8).map { toneShare(piece, hertz: countedFrequency($0), rate: rate) }
        if let best = shares.indices.max(by: { shares[$0] < shares[$1] }), shares[best] > 0.5 {
            if let last = result.last, last.step == best {
                result[result.count - 1].milliseconds += 2
            } else {
                result.append((best, 2))
            }
        }
        start += hop
    }
    // A window on a border can look like a third tone for an instant.
    return result.filter { $0.milliseconds >= 6 }.reduce(into: []) { merged, each in
        if let last = merged.last, last.step == each.step {
            merged[merged.count - 1].milliseconds += each.milliseconds
        } else {
            merged.append(each)
        }
    }
}

/// Jumps of a counted signal: the previous step, and the one that follows instead of the next.
func jumps(_ steps: [(step: Int, milliseconds: Int)]) -> [String] {
    zip(steps, steps.dropFirst()).compactMap { before, after in
        after.step == (before.step + 1) % 8 ? nil : "\(before.step) → \(after.step)"
    }
}
