import BTCallTrials
import Glibc

/// Test signals and their measurements.
enum Signals {
    static func tone(_ hertz: Double, rate: Int, frames: Int, amplitude: Double = 10_000) -> [Int16] {
        (0..<frames).map { Int16((amplitude * sin(2 * .pi * hertz * Double($0) / Double(rate))).rounded()) }
    }

    /// A vowel-like sound: pitch and formants move, a little breath.
    static func voice(rate: Int, frames: Int, seed: UInt64 = 1) -> [Int16] {
        var random = SeededRandom(seed)
        var phase = 0.0
        return (0..<frames).map { index in
            let time = Double(index) / Double(rate)
            let pitch = 130 + 25 * sin(2 * .pi * 1.3 * time) + 8 * sin(2 * .pi * 4.1 * time)
            phase += 2 * .pi * pitch / Double(rate)
            let loudness = 0.6 + 0.4 * sin(2 * .pi * 2.2 * time)
            let formant = 600 + 250 * sin(2 * .pi * 0.7 * time)
            var value = 0.0
            for harmonic in 1...18 where pitch * Double(harmonic) < Double(rate) * 0.45 {
                let offset = (pitch * Double(harmonic) - formant) / 300
                value += (0.15 + exp(-offset * offset)) / Double(harmonic).squareRoot() * sin(phase * Double(harmonic))
            }
            let breath = Double.random(in: -1...1, using: &random) * 0.05
            return Int16((3_000 * loudness * (value + breath)).rounded())
        }
    }

    /// Decibels by which the tone of that frequency exceeds everything else in `samples`.
    static func purity(_ samples: some Collection<Int16>, hertz: Double, rate: Int) -> Double {
        let values = samples.map(Double.init)
        var (ss, sc, cc, xs, xc, xx) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        for (index, value) in values.enumerated() {
            let angle = 2 * .pi * hertz * Double(index) / Double(rate)
            let (s, c) = (sin(angle), cos(angle))
            ss += s * s
            sc += s * c
            cc += c * c
            xs += value * s
            xc += value * c
            xx += value * value
        }
        let determinant = ss * cc - sc * sc
        let a = (xs * cc - xc * sc) / determinant
        let b = (xc * ss - xs * sc) / determinant
        let tone = a * xs + b * xc
        return 10 * log10(tone / max(xx - tone, 1e-9))
    }

    static func rms(_ samples: some Collection<Int16>) -> Double {
        (samples.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(max(samples.count, 1))).squareRoot()
    }

    /// Decibels of `reference` over its difference from `samples`.
    static func ratio(_ samples: some Collection<Int16>, to reference: some Collection<Int16>) -> Double {
        var (signal, noise) = (0.0, 0.0)
        for (sample, wanted) in zip(samples, reference) {
            signal += Double(wanted) * Double(wanted)
            noise += (Double(sample) - Double(wanted)) * (Double(sample) - Double(wanted))
        }
        return 10 * log10(signal / max(noise, 1e-9))
    }

    /// Largest difference between neighbours.
    static func largestStep(_ samples: [Int16]) -> Int {
        zip(samples, samples.dropFirst()).map { abs(Int($0) - Int($1)) }.max() ?? 0
    }
}
