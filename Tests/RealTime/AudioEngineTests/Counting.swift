/// 1, 2, … 16000, 1, …: each sample gives its position.
let counter: @Sendable (Int) -> Int16 = { Int16($0 % 16_000 + 1) }

/// Places where the count does not go on.
func interruptions(_ samples: some Sequence<Int16>) -> [String] {
    var found: [String] = []
    for (before, after) in zip(samples, samples.dropFirst()) {
        let isNext = after == before + 1 || (before == 16_000 && after == 1)
        if !isNext { found.append("\(before) → \(after)") }
    }
    return found
}
