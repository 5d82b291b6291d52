/// Version of a distribution's package, without its epoch, in the order of deb-version(7): `5.66-1~bpo1` < `5.66-1` <
/// `5.66-1+deb12u2`.
package struct PackageVersion: Hashable, Comparable, Sendable, CustomStringConvertible {
    package let description: String

    /// Nil unless it begins with a digit and has nothing but letters, digits and `.`, `+`, `-`, `~`, `_`, `^`.
    package init?(_ text: String) {
        let rest = text.drop { ("0"..."9").contains($0) }
        let version = rest.first == ":" ? rest.dropFirst() : text[...]
        guard (1...80).contains(version.utf8.count), let first = version.utf8.first, Self.isDigit(first),
            version.utf8.allSatisfy({ Self.isDigit($0) || Self.isLetter($0) || ".+-~_^".utf8.contains($0) })
        else { return nil }
        description = String(version)
    }

    /// The part before the last hyphen: what the distribution's package was made from.
    package var upstream: String {
        guard let hyphen = description.lastIndex(of: "-") else { return description }
        return String(description[..<hyphen])
    }

    /// The part after it; empty without one.
    private var revision: String {
        guard let hyphen = description.lastIndex(of: "-") else { return "" }
        return String(description[description.index(after: hyphen)...])
    }

    package static func < (left: PackageVersion, right: PackageVersion) -> Bool {
        precedes(left.upstream, right.upstream) ?? precedes(left.revision, right.revision) ?? false
    }

    /// Nil for parts of the same rank.
    private static func precedes(_ left: String, _ right: String) -> Bool? {
        var (one, other) = (Array(left.utf8)[...], Array(right.utf8)[...])
        while !one.isEmpty || !other.isEmpty {
            let (text, otherText) = (one.prefix { !isDigit($0) }, other.prefix { !isDigit($0) })
            let (weights, otherWeights) = (text.map(weight) + [0], otherText.map(weight) + [0])
            if weights != otherWeights { return weights.lexicographicallyPrecedes(otherWeights) }
            (one, other) = (one.dropFirst(text.count), other.dropFirst(otherText.count))
            let (digits, otherDigits) = (one.prefix(while: isDigit), other.prefix(while: isDigit))
            let (number, otherNumber) = (digits.drop { $0 == zero }, otherDigits.drop { $0 == zero })
            if number.count != otherNumber.count { return number.count < otherNumber.count }
            if !number.elementsEqual(otherNumber) { return number.lexicographicallyPrecedes(otherNumber) }
            (one, other) = (one.dropFirst(digits.count), other.dropFirst(otherDigits.count))
        }
        return nil
    }

    private static let zero = UInt8(ascii: "0")
    private static func isDigit(_ byte: UInt8) -> Bool { (zero...UInt8(ascii: "9")).contains(byte) }
    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
    }

    /// A tilde comes before the end (0), letters before other characters.
    private static func weight(_ byte: UInt8) -> Int {
        if byte == UInt8(ascii: "~") { return -1 }
        return isLetter(byte) ? Int(byte) : Int(byte) + 256
    }
}
