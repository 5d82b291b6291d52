/// Kind and size of a picture file, read from its beginning.
package struct PictureFile: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case png, jpeg
    }

    package let kind: Kind
    package let width: Int
    package let height: Int

    /// Most pixels of a side: a small file may have very many.
    package static let mostPixels = 8192
    package static let accepted =
        "a PNG or JPEG file of at most \(mostBytes / 1_000_000) MB and \(mostPixels) pixels in width and height"
    package static let mostBytes = 16_000_000

    /// - Returns: nil for bytes of another kind, and for sides of 0 or more than ``mostPixels``.
    package init?(_ bytes: [UInt8]) {
        guard let found = Self.png(bytes) ?? Self.jpeg(bytes), (1...Self.mostPixels).contains(found.width),
            (1...Self.mostPixels).contains(found.height)
        else { return nil }
        self = found
    }

    private init(_ kind: Kind, _ width: Int, _ height: Int) {
        self.kind = kind
        self.width = width
        self.height = height
    }

    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// The signature, then the chunk IHDR (PNG 3rd edition, 11.2.1).
    private static func png(_ bytes: [UInt8]) -> PictureFile? {
        guard bytes.count >= 24, Array(bytes[0..<8]) == signature, Array(bytes[12..<16]) == Array("IHDR".utf8) else {
            return nil
        }
        return PictureFile(.png, number(bytes, 16, 4), number(bytes, 20, 4))
    }

    /// Segments up to the frame header (ITU-T T.81, B.2.2).
    private static func jpeg(_ bytes: [UInt8]) -> PictureFile? {
        guard bytes.count >= 4, bytes[0] == 0xFF, bytes[1] == 0xD8 else { return nil }
        var position = 2
        while position + 9 <= bytes.count, bytes[position] == 0xFF {
            let marker = bytes[position + 1]
            if marker == 0xFF {
                position += 1
                continue
            }
            // SOF0 to SOF15 without DHT, JPG and DAC.
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                return PictureFile(.jpeg, number(bytes, position + 7, 2), number(bytes, position + 5, 2))
            }
            let length = number(bytes, position + 2, 2)
            guard length >= 2 else { return nil }
            position += 2 + length
        }
        return nil
    }

    private static func number(_ bytes: [UInt8], _ position: Int, _ count: Int) -> Int {
        bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
    }
}
