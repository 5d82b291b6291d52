import Foundation

/// Converts whole recordings between rates by a windowed sinc: slow, exact, and independent of the daemon's code.
package enum OfflineResampler {
    package static func convert(_ samples: [Int16], from: Int, to: Int) -> [Int16] {
        guard from != to, !samples.isEmpty else { return samples }
        let ratio = Double(from) / Double(to)
        let stretch = max(1, ratio)
        let half = Int(16 * stretch)
        // The phases repeat: rates are multiples of 50.
        let common = gcd(from, to)
        let phases = to / common
        let step = from / common
        let kernels: [[Float]] = (0..<phases).map { phase in
            let fraction = Double(phase * step % phases) / Double(phases)
            return (-half...half).map { offset in
                let distance = Double(offset) - fraction
                let x = distance / stretch
                let sinc = x == 0 ? 1 : sin(.pi * x) / (.pi * x)
                let hann = 0.5 + 0.5 * cos(.pi * distance / Double(half + 1))
                return Float(sinc * hann / stretch)
            }
        }
        let source = samples.map(Float.init)
        return (0..<(samples.count * to / from)).map { index in
            let centre = index * step / phases
            let kernel = kernels[index % phases]
            var sum: Float = 0
            let first = max(0, half - centre)
            let last = min(kernel.count, source.count - centre + half)
            for tap in first..<max(first, last) { sum += source[centre - half + tap] * kernel[tap] }
            return Int16(max(-32768, min(32767, sum)))
        }
    }

    private static func gcd(_ a: Int, _ b: Int) -> Int { b == 0 ? a : gcd(b, a % b) }
}
