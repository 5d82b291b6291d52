/// Words in a sentence about accepted values: `auto, yes or no`, `stay, take`, `a list of msbc, cvsd`.
package enum AcceptedWords {
    private static let list = "a list of "

    /// - Returns: an empty list for a list of any length, and for values that are described rather than listed.
    package static func words(in accepted: String) -> [String] {
        var words: [String] = []
        // By characters: a string separator would link the regular expression library into the daemon.
        for part in accepted.split(separator: ",") {
            let found = part.split(separator: " ").map { String($0) }
            switch found.count {
            case 1: words.append(found[0])
            case 2 where found[0] == "or": words.append(found[1])
            case 3 where found[1] == "or": words += [found[0], found[2]]
            default: return []
            }
        }
        return words.count > 1 ? words : []
    }

    /// Returns `did you mean 'voip'?`; nil when the value resembles none of the words.
    ///
    /// - Parameter value: a word, or words if a list is accepted.
    package static func question(for value: String, accepted: String) -> String? {
        guard accepted.hasPrefix(list) else {
            let words = words(in: accepted)
            return words.contains(value) ? nil : Suggestion.question(for: value, among: words)
        }
        // Text after the words of a list describes the list, for example its notation.
        let elements = accepted.dropFirst(list.count).prefix { $0 != "(" }
        let words = elements.split(separator: ",").map { $0.split(separator: " ") }.filter { $0.count == 1 }
            .map { String($0[0]) }
        let wrong = value.split { $0 == "," || $0 == " " }.map { String($0) }.first { !words.contains($0) }
        return wrong.flatMap { Suggestion.question(for: $0, among: words) }
    }
}
