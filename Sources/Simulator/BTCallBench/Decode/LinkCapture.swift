/// The bytes of a captured synchronous link, cut into packets.
package struct LinkCapture: Sequence, Sendable {
    private let bytes: [UInt8]
    private let packetBytes: Int

    /// - Parameter packetBytes: size of each packet, of which the last may be shorter; 0 when each begins with its length in
    ///   16 bits, little-endian. A packet cut off at the end is used as far as it goes; a cut-off length is ignored.
    package init(_ bytes: [UInt8], packetBytes: Int) {
        self.bytes = bytes
        self.packetBytes = packetBytes
    }

    package func makeIterator() -> Iterator {
        Iterator(rest: bytes[...], packetBytes: packetBytes)
    }

    package struct Iterator: IteratorProtocol {
        fileprivate var rest: ArraySlice<UInt8>
        fileprivate let packetBytes: Int

        package mutating func next() -> ArraySlice<UInt8>? {
            var count = packetBytes
            if count <= 0 {
                guard let low = rest.popFirst(), let high = rest.popFirst() else { return nil }
                count = Int(low) | Int(high) << 8
            } else if rest.isEmpty {
                return nil
            }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
    }
}
