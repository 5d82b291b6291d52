import CBTCall

/// Packets of an A2DP stream: an RTP header (RFC 3550 §5.1), one byte of SBC payload header, and whole codec frames (A2DP
/// 1.4 §4.3.4). Codec frames are never fragmented.
package struct MediaPacketizer: ~Copyable {
    /// Bytes before the codec frames.
    package static var headerBytes: Int { @_noLocks get { 13 } }
    /// The payload header has four bits for the number.
    package static var maximumFrames: Int { @_noLocks get { 15 } }
    /// A dynamic payload type; the peer knows its meaning from the configuration.
    private static var payloadType: UInt8 { @_noLocks get { 96 } }

    /// The packet, `byteCount` bytes of it.
    package let bytes: UnsafeMutablePointer<UInt8>
    package private(set) var byteCount = 0
    package private(set) var frames = 0
    /// Sequence number of the next packet.
    package private(set) var sequence: UInt16
    private let capacity: Int
    private let source: UInt32

    /// - Parameters:
    ///   - capacity: maximum bytes of a packet: the write MTU.
    ///   - sequence: number of the first packet.
    ///   - source: identifies the stream; any number.
    package init(capacity: Int, sequence: UInt16 = 0, source: UInt32 = 1) {
        self.capacity = max(capacity, Self.headerBytes)
        self.sequence = sequence
        self.source = source
        bytes = .allocate(capacity: self.capacity)
        bytes.initialize(repeating: 0, count: self.capacity)
    }

    deinit { bytes.deallocate() }

    /// Number of codec frames that fit into a packet; 0 when one is too long.
    @_noLocks
    package func room(frameBytes: Int) -> Int {
        if frameBytes <= 0 { return 0 }
        let room = (capacity &- Self.headerBytes) / frameBytes
        return room < Self.maximumFrames ? room : Self.maximumFrames
    }

    /// Starts the next packet, with the number of its first audio frame.
    @_noLocks
    package mutating func begin(timestamp: UInt32) {
        bytes[0] = 2 << 6
        bytes[1] = Self.payloadType
        put(UInt32(sequence) << 16, at: 2)
        put(timestamp, at: 4)
        put(source, at: 8)
        sequence &+= 1
        frames = 0
        bytes[12] = 0
        byteCount = Self.headerBytes
    }

    /// Discards the started packet: the next one reuses its number.
    @_noLocks
    package mutating func discard() { sequence &-= 1 }

    /// Where to write the next codec frame, and the bytes available.
    package var end: UnsafeMutablePointer<UInt8> { @_noLocks get { bytes + byteCount } }
    package var free: Int {
        @_noLocks get { frames < Self.maximumFrames ? capacity &- byteCount : 0 }
    }

    /// Records that a codec frame of this size, at most `free`, was written to `end`.
    @_noLocks
    package mutating func append(_ frameBytes: Int) {
        byteCount &+= frameBytes
        frames &+= 1
        bytes[12] = UInt8(truncatingIfNeeded: frames)
    }

    /// Writes the value in big-endian order.
    @_noLocks
    private func put(_ value: UInt32, at offset: Int) {
        var index = 0
        while index < 4 {
            bytes[offset &+ index] = UInt8(truncatingIfNeeded: value >> UInt32(24 &- 8 &* index))
            index &+= 1
        }
    }
}
