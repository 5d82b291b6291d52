/// Width and height of a picture in pixels, each 1…16384.
package struct FrameSize: Hashable, Sendable, CustomStringConvertible {
    package static let limit = 16_384

    package let width: Int
    package let height: Int

    /// - Returns: nil for a number that is out of range, as a driver may answer it.
    package init?(_ width: Int, _ height: Int) {
        guard (1...Self.limit).contains(width), (1...Self.limit).contains(height) else { return nil }
        self.width = width
        self.height = height
    }

    /// - Parameter text: `640x480`.
    package init?(_ text: String) {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Self.number(parts[0]), let height = Self.number(parts[1]) else {
            return nil
        }
        self.init(width, height)
    }

    private static func number(_ text: Substring) -> Int? {
        guard (1...5).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    package var description: String { "\(width)x\(height)" }

    /// At most 16,384 times 16,384.
    package var area: Int { width * height }

    /// Sum of the differences of width and height.
    func distance(to other: FrameSize) -> Int {
        max(width, other.width) - min(width, other.width) + max(height, other.height) - min(height, other.height)
    }

    /// Whether its width differs by at most 1/64 from 4:3 or 16:9. 848x480 is 16:9 with a width that a multiple of 16 is
    /// nearest to.
    var isUsualShape: Bool { isNear(4, 3) || isNear(16, 9) }

    private func isNear(_ across: Int, _ down: Int) -> Bool {
        let (actual, ideal) = (width * down, height * across)
        return (max(actual, ideal) - min(actual, ideal)) * 64 <= ideal
    }

    /// Whether it fits into 1280x720.
    var isUpTo720: Bool { width <= 1280 && height <= 720 }
}

/// Frames per second in thousandths: 1…1,000,000.
package struct FrameRate: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let limit = 1_000_000

    package let thousandths: Int

    /// - Returns: nil for a number that is out of range.
    package init?(thousandths: Int) {
        guard (1...Self.limit).contains(thousandths) else { return nil }
        self.thousandths = thousandths
    }

    package static func < (left: FrameRate, right: FrameRate) -> Bool { left.thousandths < right.thousandths }

    /// `30`, `29.97`, `7.5`.
    package var description: String {
        let (whole, rest) = (thousandths / 1000, thousandths % 1000)
        guard rest > 0 else { return "\(whole)" }
        let digits = String(String(rest + 1000).dropFirst().reversed().drop { $0 == "0" }.reversed())
        return "\(whole).\(digits)"
    }

    func distance(to other: FrameRate) -> Int {
        max(thousandths, other.thousandths) - min(thousandths, other.thousandths)
    }

    /// Whether it is at most one percent slower: 29.97 frames a second hold 30.
    package func holds(_ other: FrameRate) -> Bool { thousandths * 100 >= other.thousandths * 99 }
}
