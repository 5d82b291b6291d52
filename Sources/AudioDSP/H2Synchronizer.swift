import CBTCall

/// Finds codec frames in the bytes of a transparent link (HFP 1.9, wide band speech, synchronisation header H2).
///
/// A codec frame is 60 bytes: a header of two (0x01 and a sequence number of two bits, each sent twice), 57 of mSBC, one
/// of padding. Packets need not begin with one. While in step the header and the syncword are expected right behind the
/// previous codec frame; otherwise, and when a complete header shows up within a codec frame (bytes were lost), the
/// search goes on byte by byte.
///
/// ```swift
/// while offset < count {
///     offset += synchronizer.consume(bytes + offset, count - offset, isDamaged: false)
///     if synchronizer.hasFrame { … synchronizer.frame … }
/// }
/// ```
package struct H2Synchronizer: ~Copyable {
    /// Bytes of a codec frame with header and padding.
    package static var frameBytes: Int { @_noLocks get { 60 } }
    private static let headerBytes = 2
    /// Header, syncword and the two bytes behind it, which mSBC keeps zero.
    private static let patternBytes = 5

    private let buffer: UnsafeMutablePointer<UInt8>
    private var fill = 0
    /// The search found the last codec frame where it was expected.
    private var isInStep = false
    private var lastSequence = -1
    /// Bytes of the buffer that came damaged lie before this index.
    private var damagedEnd = 0

    /// A codec frame is complete; true until the next `consume`.
    package private(set) var hasFrame = false
    /// Part of that codec frame came in a damaged packet.
    package private(set) var frameIsDamaged = false
    /// How many codec frames, modulo 4, the sequence numbers say are missing between the last two.
    package private(set) var framesMissedBefore = 0
    /// Bytes that belonged to no codec frame since the last complete one, or until that one when `hasFrame`.
    package private(set) var skippedBeforeFrame = 0

    /// How often the sequence number was not the next one.
    package private(set) var sequenceGaps = 0
    /// Codec frames missing by those numbers.
    package private(set) var framesMissed = 0
    /// How often the search had to start again.
    package private(set) var resyncs = 0
    /// Bytes that belonged to no codec frame.
    package private(set) var bytesSkipped = 0

    package init() {
        buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: Self.frameBytes)
        buffer.initialize(repeating: 0, count: Self.frameBytes)
    }

    deinit { buffer.deallocate() }

    /// The 57 bytes of the complete codec frame. Valid while `hasFrame`.
    package var frame: UnsafePointer<UInt8> {
        @_noLocks get { UnsafePointer(buffer + Self.headerBytes) }
    }

    /// Takes bytes up to and including the end of a codec frame, or all `count`; returns how many.
    ///
    /// - Parameter isDamaged: these bytes came with a bad packet status.
    @_noLocks
    package mutating func consume(_ bytes: UnsafePointer<UInt8>, _ count: Int, isDamaged: Bool) -> Int {
        if hasFrame {
            hasFrame = false
            fill = 0
            damagedEnd = 0
            skippedBeforeFrame = 0
        }
        var taken = 0
        while taken < count {
            buffer[fill] = bytes[taken]
            fill &+= 1
            taken &+= 1
            if isDamaged { damagedEnd = fill }
            if fill <= Self.patternBytes {
                while fill > 0 && !isPrefix() { skip(1) }
            } else if fill >= 2 * Self.patternBytes && patternEnds(at: fill) {
                skip(fill &- Self.patternBytes)
            }
            if fill == Self.frameBytes {
                complete()
                return taken
            }
        }
        return taken
    }

    /// Forgets everything but the counters, as for a new link.
    @_noLocks
    package mutating func reset() {
        fill = 0
        isInStep = false
        lastSequence = -1
        damagedEnd = 0
        hasFrame = false
        skippedBeforeFrame = 0
        framesMissedBefore = 0
    }

    @_noLocks
    private mutating func complete() {
        let sequence = Self.sequence(of: buffer[1])
        hasFrame = true
        isInStep = true
        frameIsDamaged = damagedEnd > 0
        framesMissedBefore = 0
        if lastSequence >= 0 {
            framesMissedBefore = (sequence &- lastSequence &- 1) & 3
            if framesMissedBefore > 0 {
                sequenceGaps &+= 1
                framesMissed &+= framesMissedBefore
            }
        }
        lastSequence = sequence
    }

    /// Drops the first `count` bytes of the buffer: they are no codec frame.
    @_noLocks
    private mutating func skip(_ count: Int) {
        if isInStep {
            isInStep = false
            resyncs &+= 1
        }
        bytesSkipped &+= count
        skippedBeforeFrame &+= count
        fill &-= count
        damagedEnd = damagedEnd > count ? damagedEnd &- count : 0
        btcall_move(buffer, buffer + count, fill)
    }

    /// The buffer may be the beginning of a codec frame.
    @_noLocks
    private func isPrefix() -> Bool {
        if buffer[0] != 0x01 { return false }
        if fill > 1 && Self.sequence(of: buffer[1]) < 0 { return false }
        if fill > 2 && buffer[2] != 0xAD { return false }
        // In step the place already says that this is a header: a headset may use the reserved bytes.
        if isInStep { return true }
        if fill > 3 && buffer[3] != 0 { return false }
        return fill <= 4 || buffer[4] == 0
    }

    /// A whole header, syncword and reserved bytes end right before `end`.
    @_noLocks
    private func patternEnds(at end: Int) -> Bool {
        let start = buffer + (end &- Self.patternBytes)
        if start[4] != 0 || start[3] != 0 || start[2] != 0xAD { return false }
        return start[0] == 0x01 && Self.sequence(of: start[1]) >= 0
    }

    /// The sequence number in the second byte of a header, or -1 when it is none.
    @_noLocks
    private static func sequence(of byte: UInt8) -> Int {
        switch byte {
        case 0x08: 0
        case 0x38: 1
        case 0xC8: 2
        case 0xF8: 3
        default: -1
        }
    }

    /// The header with a sequence number, of which the lowest two bits count.
    @_noLocks
    static func headerByte(sequence: Int) -> UInt8 {
        switch sequence & 3 {
        case 0: 0x08
        case 1: 0x38
        case 2: 0xC8
        default: 0xF8
        }
    }
}
