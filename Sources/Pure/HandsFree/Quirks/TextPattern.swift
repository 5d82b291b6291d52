/// A text in which `*` stands for any characters and `?` for one; the case of ASCII letters does not matter.
package struct TextPattern: Hashable, Sendable, CustomStringConvertible {
    /// As written.
    package let description: String
    private let scalars: [Unicode.Scalar]

    package static let longest = 100

    /// Nil for an empty or too long text.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.unicodeScalars.count) else { return nil }
        description = text
        scalars = text.unicodeScalars.map(Self.folded)
    }

    /// - Complexity: the product of both lengths, in the worst case.
    package func matches(_ text: String) -> Bool {
        let text = text.unicodeScalars.map(Self.folded)
        var (position, index) = (0, 0)
        // Position of the last `*`, and where its match is tried to end.
        var star: (index: Int, position: Int)?
        while position < text.count {
            if index < scalars.count, scalars[index] == "*" {
                star = (index, position)
                index += 1
            } else if index < scalars.count, scalars[index] == "?" || scalars[index] == text[position] {
                index += 1
                position += 1
            } else if let last = star {
                star = (last.index, last.position + 1)
                index = last.index + 1
                position = last.position + 1
            } else {
                return false
            }
        }
        return scalars[index...].allSatisfy { $0 == "*" }
    }

    private static func folded(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        guard ("A"..."Z").contains(scalar) else { return scalar }
        return Unicode.Scalar(UInt8(truncatingIfNeeded: scalar.value) | 0x20)
    }
}
