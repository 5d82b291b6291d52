/// Suggests known words for an unknown one.
package enum Suggestion {
    /// Returns `did you mean 'prefer'?`; nil when no candidate is similar.
    package static func question(for word: String, among candidates: [String]) -> String? {
        question(for: word, among: candidates.map { ($0, [$0]) })
    }

    /// The same for candidates with several names.
    package static func question(for word: String, among candidates: [(word: String, names: [String])]) -> String? {
        let near = words(near: word, among: candidates)
        return near.isEmpty ? nil : "did you mean \(near.map { "'\($0)'" }.joined(separator: " or "))?"
    }

    /// Returns the most similar candidates, at most three; each may have several names.
    package static func words(near word: String, among candidates: [(word: String, names: [String])]) -> [String] {
        let wanted = Array(word.lowercased().utf8)
        let rated = candidates.compactMap { candidate -> (word: String, distance: Int)? in
            let distance =
                candidate.names.map { name in
                    let letters = Array(name.lowercased().utf8)
                    let isPart = wanted.count >= 4 && contains(letters, wanted)
                    return isPart ? 1 : Self.distance(wanted, letters)
                }.min() ?? .max
            // Of a short word nothing would be left.
            let most = min(max(2, wanted.count / 3), max(1, wanted.count - 2))
            return distance <= most ? (candidate.word, distance) : nil
        }
        let best = rated.map(\.distance).min() ?? 0
        return rated.filter { $0.distance == best }.prefix(3).map(\.word)
    }

    /// A string's own `contains` would bring the regular expression library into btcalld.
    private static func contains(_ letters: [UInt8], _ part: [UInt8]) -> Bool {
        letters.indices.contains { letters[$0...].starts(with: part) }
    }

    /// Number of bytes to add, remove or replace to convert one into the other; two swapped bytes count as one.
    private static func distance(_ one: [UInt8], _ other: [UInt8]) -> Int {
        var before = [Int](repeating: 0, count: other.count + 1)
        var row = Array(0...other.count)
        for (index, byte) in one.enumerated() {
            var next = [Int](repeating: index + 1, count: other.count + 1)
            for (column, candidate) in other.enumerated() {
                let replaced = row[column] + (byte == candidate ? 0 : 1)
                var least = min(replaced, row[column + 1] + 1, next[column] + 1)
                if index > 0, column > 0, byte == other[column - 1], one[index - 1] == candidate {
                    least = min(least, before[column - 1] + 1)
                }
                next[column + 1] = least
            }
            before = row
            row = next
        }
        return row[other.count]
    }
}
