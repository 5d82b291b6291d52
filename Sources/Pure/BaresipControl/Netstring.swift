/// Reads netstrings (D. J. Bernstein, 1997: `LENGTH:BYTES,`) from a stream that may be split anywhere.
package struct NetstringReader: Sendable {
    package enum Problem: Error, Equatable, Sendable {
        /// In place of a length, its `:` or the final `,`.
        case unexpected(UInt8)
        case tooLong
    }

    /// Maximum contents of one netstring.
    package static let maximumBytes = 256 * 1024

    private var buffer: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func append(_ bytes: [UInt8]) {
        buffer.removeFirst(start)
        start = 0
        buffer += bytes
    }

    /// Returns the contents of the next netstring; nil until it is complete. Nothing can be read after an error.
    package mutating func next() throws(Problem) -> [UInt8]? {
        var length = 0
        var position = start
        while position < buffer.count, buffer[position] != UInt8(ascii: ":") {
            let byte = buffer[position]
            let isLeadingZero = position > start && length == 0
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte), !isLeadingZero else {
                throw .unexpected(byte)
            }
            length = length * 10 + Int(byte - UInt8(ascii: "0"))
            guard length <= Self.maximumBytes else { throw .tooLong }
            position += 1
        }
        guard position < buffer.count else { return nil }
        guard position > start else { throw .unexpected(buffer[position]) }
        let contents = position + 1
        let end = contents + length
        guard end < buffer.count else { return nil }
        guard buffer[end] == UInt8(ascii: ",") else { throw .unexpected(buffer[end]) }
        start = end + 1
        return Array(buffer[contents..<end])
    }

    package static func frame(_ text: String) -> [UInt8] {
        Array("\(text.utf8.count):\(text),".utf8)
    }
}
