import Glibc

/// Chirps at fixed intervals, found again in a recording by correlation: measures the delay of a sound.
///
/// Each rises from 400 to 3200 Hz, a range that every voice codec passes, within 0.1 s.
package struct ChirpTrain: Sendable {
    /// One chirp that was found.
    package struct Echo: Equatable, Sendable {
        /// Frames from sending to receiving the chirp.
        package let delay: Int
        /// Similarity to the chirp, 0 to 1.
        package let likeness: Double
    }

    package static let chirpMilliseconds = 100
    /// Interval between chirps: longer than the longest measured delay.
    package static let distanceMilliseconds = 1_000
    /// Anything less similar counts as noise.
    package static let leastLikeness = 0.35

    package let rate: Int
    package let count: Int
    private let chirp: [Double]

    /// - Parameters:
    ///   - rate: sample rate in Hz.
    ///   - count: number of chirps.
    package init(rate: Int, count: Int) {
        self.rate = rate
        self.count = count
        let frames = rate * Self.chirpMilliseconds / 1000
        chirp = (0..<frames).map { index in
            let time = Double(index) / Double(rate)
            let sweep = 2 * Double.pi * (400 * time + 2800 * time * time / (2 * Double(frames) / Double(rate)))
            let edge = 0.5 - 0.5 * cos(2 * Double.pi * Double(index) / Double(frames))
            return sin(sweep) * edge
        }
    }

    /// The samples to play: the chirps at a quarter of full scale, then silence for the last one to return.
    package var samples: [Int16] {
        var result = [Int16](repeating: 0, count: count * distance)
        for number in 0..<count {
            for (index, value) in chirp.enumerated() { result[number * distance + index] = Int16(8_192 * value) }
        }
        return result
    }

    /// Finds each chirp in the recording from `start` on, the frame at which the first chirp was sent.
    ///
    /// - Returns: the chirps found; lost ones and those hidden by noise are left out.
    package func echoes(in recorded: [Int16], from start: Int) -> [Echo] {
        (0..<count).compactMap { number in
            let begin = start + number * distance
            let end = min(begin + distance, recorded.count)
            guard begin >= 0, begin + chirp.count < end else { return nil }
            return echo(in: recorded[begin..<end])
        }
    }

    private var distance: Int { rate * Self.distanceMilliseconds / 1000 }

    private func echo(in window: ArraySlice<Int16>) -> Echo? {
        let recorded = window.map(Double.init)
        let energy = chirp.reduce(0) { $0 + $1 * $1 }
        var power = recorded.prefix(chirp.count).reduce(0) { $0 + $1 * $1 }
        var best = (delay: 0, likeness: 0.0)
        for delay in 0...(recorded.count - chirp.count) {
            if delay > 0 {
                let (new, old) = (recorded[delay + chirp.count - 1], recorded[delay - 1])
                power += new * new - old * old
            }
            let likeness = product(recorded, delay).magnitude / (energy * max(power, 1)).squareRoot()
            if likeness > best.likeness { best = (delay, likeness) }
        }
        return best.likeness >= Self.leastLikeness ? Echo(delay: best.delay, likeness: min(best.likeness, 1)) : nil
    }

    private func product(_ recorded: [Double], _ delay: Int) -> Double {
        recorded.withUnsafeBufferPointer { recorded in
            chirp.withUnsafeBufferPointer { chirp in
                var sum = 0.0
                for index in 0..<chirp.count { sum += recorded[delay + index] * chirp[index] }
                return sum
            }
        }
    }
}
