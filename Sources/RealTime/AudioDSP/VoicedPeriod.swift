/// Distance by which a voice can be shifted against itself inaudibly: one or more of its periods.
///
/// Searches between 5 and 12.5 ms, over 30 ms: one period of a low voice, several of a high one. Finds nothing in noise, in
/// consonants and at the borders of sounds, so that these keep their length.
enum VoicedPeriod {
    /// Number of frames that ``find(_:rate:)`` examines.
    ///
    /// - Parameter rate: in Hz.
    @_noLocks
    static func framesNeeded(rate: Int) -> Int { window(rate) &+ longest(rate) &+ 1 }

    @_noLocks private static func window(_ rate: Int) -> Int { rate &* 3 / 100 }
    @_noLocks private static func shortest(_ rate: Int) -> Int { rate / 200 }
    @_noLocks private static func longest(_ rate: Int) -> Int { rate / 80 }
    /// 0.9, squared. Tones that change every 20 ms, with which tests mark positions, reach 0.83 at most.
    private static var likeness: Double { @_noLocks get { 0.81 } }
    /// Inaudible audio has no period.
    private static var inaudible: Int { @_noLocks get { 60 } }

    /// Returns the shift at which `samples` are most similar to themselves; 0 without one.
    ///
    /// - Parameters:
    ///   - samples: `framesNeeded` of them.
    ///   - rate: in Hz, a multiple of 8000.
    @_noLocks
    static func find(_ samples: UnsafePointer<Int16>, rate: Int) -> Int {
        let count = window(rate)
        // First at 8000 Hz, then between those frames.
        let step = rate / 8_000 > 1 ? rate / 8_000 : 1
        let energy = product(samples, samples, count, step)
        if energy < Self.inaudible &* Self.inaudible &* (count / step) { return 0 }
        var best = 0
        var score = 0.0
        var shift = shortest(rate)
        var moved = product(samples + shift, samples + shift, count, step)
        while shift <= longest(rate) {
            let found = Self.score(product(samples, samples + shift, count, step), energy, moved)
            if found > score { (best, score) = (shift, found) }
            let (old, new) = (Int(samples[shift]), Int(samples[shift &+ count]))
            moved = moved &- old &* old &+ new &* new
            shift &+= step
        }
        if best == 0 { return 0 }
        let whole = product(samples, samples, count, 1)
        let middle = best
        score = 0
        shift = middle &- step &+ 1
        while shift < middle &+ step {
            if shift <= longest(rate) {
                let there = samples + shift
                let found = Self.score(product(samples, there, count, 1), whole, product(there, there, count, 1))
                if found > score { (best, score) = (shift, found) }
            }
            shift &+= 1
        }
        return score >= likeness ? best : 0
    }

    /// Square of the correlation, 0…1; 0 where it is negative.
    @_noLocks
    private static func score(_ common: Int, _ energy: Int, _ other: Int) -> Double {
        if common <= 0 || other <= 0 { return 0 }
        return Double(common) / Double(energy) * Double(common) / Double(other)
    }

    @_noLocks
    private static func product(
        _ left: UnsafePointer<Int16>, _ right: UnsafePointer<Int16>, _ count: Int, _ step: Int
    ) -> Int {
        var sum = 0
        var index = 0
        while index < count {
            sum &+= Int(left[index]) &* Int(right[index])
            index &+= step
        }
        return sum
    }
}
