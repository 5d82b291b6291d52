import CBTCall

/// Packets of an A2DP stream: a header of RTP (RFC 3550 §5.1), one byte of SBC's own, and whole codec frames
/// (A2DP 1.4 §4.3.4). Codec frames are never cut into fragments.
package struct MediaPacketizer: ~Copyable {
    /// Before the codec frames.
    package static var headerBytes: Int { @_noLocks get { 13 } }
    /// The payload header has four bits for their number.
    package static var maximumFrames: Int { @_noLocks get { 15 } }
    /// Of the dynamic ones; the peer knows from the configuration what it is.
    private static var payloadType: UInt8 { @_noLocks get { 96 } }

    /// The packet, `byteCount` bytes of it.
    package let bytes: UnsafeMutablePointer<UInt8>
    package private(set) var byteCount = 0
    package private(set) var frames = 0
    /// Of the next packet.
    package private(set) var sequence: UInt16
    private let capacity: Int
    private let source: UInt32

    /// - Parameters:
    ///   - capacity: bytes of a packet: the write MTU.
    ///   - sequence: number of the first packet.
    ///   - source: identifies the stream, any number.
    package init(capacity: Int, sequence: UInt16 = 0, source: UInt32 = 1) {
        self.capacity = max(capacity, Self.headerBytes)
        self.sequence = sequence
        self.source = source
        bytes = .allocate(capacity: self.capacity)
        bytes.initialize(repeating: 0, count: self.capacity)
    }

    deinit { bytes.deallocate() }

    /// Codec frames that a packet has room for, 0 when one is too long.
    @_noLocks
    package func room(frameBytes: Int) -> Int {
        if frameBytes <= 0 { return 0 }
        let room = (capacity &- Self.headerBytes) / frameBytes
        return room < Self.maximumFrames ? room : Self.maximumFrames
    }

    /// Begins the next packet, with the number of its first frame of audio.
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

    /// What was begun is not sent: its number is that of the next one.
    @_noLocks
    package mutating func takeBack() { sequence &-= 1 }

    /// Where the next codec frame is to be written, and the bytes that there are.
    package var end: UnsafeMutablePointer<UInt8> { @_noLocks get { bytes + byteCount } }
    package var free: Int {
        @_noLocks get { frames < Self.maximumFrames ? capacity &- byteCount : 0 }
    }

    /// A codec frame of so many bytes, at most `free`, was written to `end`.
    @_noLocks
    package mutating func append(_ frameBytes: Int) {
        byteCount &+= frameBytes
        frames &+= 1
        bytes[12] = UInt8(truncatingIfNeeded: frames)
    }

    /// The higher bytes first.
    @_noLocks
    private func put(_ value: UInt32, at offset: Int) {
        var index = 0
        while index < 4 {
            bytes[offset &+ index] = UInt8(truncatingIfNeeded: value >> UInt32(24 &- 8 &* index))
            index &+= 1
        }
    }
}
