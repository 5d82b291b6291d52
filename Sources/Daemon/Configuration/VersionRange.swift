/// Versions of a program: `5.67`, `5.62 to 5.64`, `before 5.9`. An omitted number stands for all, so 5.64 includes 5.64.3.
package struct VersionRange: Hashable, Sendable, CustomStringConvertible {
    private let first: [Int]
    /// The last one that belongs to the range; nil with `before`.
    private let last: [Int]?
    /// The first one after the range; nil without `before`.
    private let end: [Int]?
    package let description: String

    /// Nil unless `text` is one of the three forms, the lower version first.
    package init?(_ text: String) {
        let words = text.split(separator: " ").map { String($0) }
        description = words.joined(separator: " ")
        switch words.count {
        case 1:
            guard let version = Self.version(words[0]) else { return nil }
            (first, last, end) = (version, version, nil)
        case 2:
            guard words[0] == "before", let version = Self.version(words[1]) else { return nil }
            (first, last, end) = ([], nil, version)
        case 3:
            guard words[1] == "to", let first = Self.version(words[0]), let last = Self.version(words[2]),
                !last.lexicographicallyPrecedes(first)
            else { return nil }
            (self.first, self.last, end) = (first, last, nil)
        default: return nil
        }
    }

    /// - Parameter version: as a program names itself; text after the numbers is ignored (`6.8.12-generic`). False without
    ///   numbers.
    package func contains(_ version: String) -> Bool {
        let numbers = Self.numbers(version)
        guard !numbers.isEmpty else { return false }
        if let end { return numbers.lexicographicallyPrecedes(end) }
        guard let last else { return false }
        return !numbers.prefix(first.count).lexicographicallyPrecedes(first)
            && !last.lexicographicallyPrecedes(numbers.prefix(last.count))
    }

    /// The numbers at the beginning: 6, 1, 0, 56 of `6.1.0-56-amd64`.
    private static func numbers(_ text: String) -> [Int] {
        var numbers: [Int] = []
        for part in text.split(whereSeparator: { ".-+_".contains($0) }) {
            let digits = part.prefix { ("0"..."9").contains($0) }
            guard let number = Int(digits) else { break }
            numbers.append(number)
            guard digits.count == part.count else { break }
        }
        return numbers
    }

    /// Numbers of at most five digits with dots or hyphens in between.
    private static func version(_ text: String) -> [Int]? {
        let parts = text.split(omittingEmptySubsequences: false) { $0 == "." || $0 == "-" }
        let numbers = parts.compactMap { part in
            part.utf8.count <= 5 && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
                ? Int(part) : nil
        }
        return (1...5).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }
}
