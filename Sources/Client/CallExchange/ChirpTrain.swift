import Glibc

/// Chirps at fixed distances, which are found again in a recording by correlation: how long a sound has been under way.
///
/// Each rises from 400 to 3200 Hz, what every voice codec passes, within a tenth of a second.
package struct ChirpTrain: Sendable {
    /// One chirp that was found.
    package struct Echo: Equatable, Sendable {
        /// Frames from the sending of the chirp to its coming back.
        package let delay: Int
        /// How like the chirp it was, 0 to 1.
        package let likeness: Double
    }

    package static let chirpMilliseconds = 100
    /// From one chirp to the next: longer than any delay that is looked for.
    package static let distanceMilliseconds = 1_000
    /// Less is taken for noise.
    package static let leastLikeness = 0.35

    package let rate: Int
    package let count: Int
    private let chirp: [Double]

    /// - Parameters:
    ///   - rate: frames per second.
    ///   - count: how many chirps.
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

    /// What to play: the chirps at a quarter of full scale, and silence for the last one to come back in.
    package var samples: [Int16] {
        var result = [Int16](repeating: 0, count: count * distance)
        for number in 0..<count {
            for (index, value) in chirp.enumerated() { result[number * distance + index] = Int16(8_192 * value) }
        }
        return result
    }

    /// Looks for each chirp in what was recorded from `start` on, the frame at which the first one was sent.
    ///
    /// - Returns: those that were found; a chirp that did not come back, or that noise hides, is left out.
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
