/// Kernel versions: `5.10.1-5.10.18`, `4`, `0-5.7`. An omitted number stands for all, so 5.7 ends with the last 5.7.x.
package struct KernelRange: Hashable, Sendable, CustomStringConvertible {
    private let first: [Int]
    private let last: [Int]

    /// Nil unless `text` is a version, or two with a hyphen in between, the lower one first.
    package init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (1...2).contains(ends.count), let first = Self.numbers(ends[0]),
            let last = Self.numbers(ends[ends.count - 1]),
            !last.lexicographicallyPrecedes(first)
        else { return nil }
        self.first = first
        self.last = last
    }

    /// - Parameter release: from `uname -r`; text after the numbers is ignored. False without numbers.
    package func contains(_ release: String) -> Bool {
        let numbers = release.prefix { $0 == "." || ("0"..."9").contains($0) }.split(separator: ".").prefix(3)
            .compactMap { Int($0) }
        guard !numbers.isEmpty else { return false }
        return !numbers.prefix(first.count).lexicographicallyPrecedes(first)
            && !last.lexicographicallyPrecedes(numbers.prefix(last.count))
    }

    package var description: String {
        let ends = [first, last].map { $0.map { String($0) }.joined(separator: ".") }
        return first == last ? ends[0] : ends.joined(separator: "-")
    }

    private static func numbers(_ text: Substring) -> [Int]? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { part in
            part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } && part.utf8.count <= 5
                ? Int(part) : nil
        }
        return (1...3).contains(parts.count) && numbers.count == parts.count ? numbers : nil
    }
}
