/// Numbers of a course (SplitMix64): the same for the same seed on every machine.
struct CourseNumbers {
    private var state: UInt64

    /// Scrambled, so that neighbouring seeds do not share a sequence.
    init(seed: UInt64) {
        state = seed
        state = next() ^ seed.byteSwapped
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }

    /// - Parameter limit: more than 0.
    mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

    mutating func one<Element>(of elements: [Element]) -> Element { elements[below(elements.count)] }

    mutating func chance(percent: Int) -> Bool { below(100) < percent }
}
