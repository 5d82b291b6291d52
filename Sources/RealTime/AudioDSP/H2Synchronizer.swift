import CBTCall

/// Finds codec frames in the bytes of a transparent link (HFP 1.9, wide band speech, synchronisation header H2).
///
/// A codec frame is 60 bytes: a header of two (0x01 and a two-bit sequence number, each bit sent twice), and 57 of mSBC with
/// one of padding, or 58 of LC3. Packets need not begin with a header. A search accepts only a complete header with syncword
/// and reserved bytes. In step, the next codec frame is expected right after the last one, and much is tolerated there:
///
/// - Damaged bytes fill the place of the lost ones: a header within them is ignored, as is its number.
/// - Either the header or the syncword may be wrong. The decoder judges the rest.
/// - If both are wrong, bytes were lost or inserted. A header that began in the last bytes of the previous codec frame is
///   found as well; otherwise the search continues byte by byte.
/// - Sound can look like a complete header within a codec frame. The place after that frame decides: with the next header
///   in it, it was sound; without it, bytes were lost, and the inner header begins the next codec frame.
///
/// LC3 has no syncword, so a header is only two bytes, which other bytes can imitate: a search accepts one only if the next
/// follows in its place, and in step a header may have one wrong bit.
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
    private static var headerBytes: Int { @_noLocks get { 2 } }
    /// Header, syncword and the two bytes after it, which mSBC keeps zero.
    private static var patternBytes: Int { @_noLocks get { 5 } }
    /// Bytes from the header to the end of the data that the checksum of mSBC covers.
    private static var checkedBytes: Int { @_noLocks get { 10 } }
    /// Longest part of a pattern that can end a codec frame.
    private static var tailBytes: Int { @_noLocks get { patternBytes &- 1 } }
    /// Number of consecutive equal numbers after which a headset counts as not numbering its frames.
    private static var believedRepeats: Int { @_noLocks get { 2 } }
    /// Number of consecutive zero paddings after which a headset's padding is assumed to be always zero.
    private static var trustedPaddings: Int { @_noLocks get { 4 } }

    private let hasSyncword: Bool
    /// End of the previous codec frame, followed by `buffer`.
    private let storage: UnsafeMutablePointer<UInt8>
    private let buffer: UnsafeMutablePointer<UInt8>
    private var fill = 0
    /// The last codec frame was where it was expected.
    private var isInStep = false
    private var lastSequence = -1
    /// Consecutive equal numbers.
    private var repeats = 0
    /// The header of the codec frame in the buffer arrived complete and undamaged.
    private var isHeaderSound = false
    /// Consecutive codec frames with zero padding, as it should be; counted up to `trustedPaddings`.
    private var zeroPaddings = 0
    /// Damaged bytes of the buffer lie from the first of these indices to before the second; 0 for none.
    private var damagedStart = 0
    private var damagedEnd = 0
    /// Start of the first pattern within the codec frame; 0 for none.
    private var innerStart = 0

    /// A codec frame is complete; true until the next `consume`.
    package private(set) var hasFrame = false
    /// Part of the codec frame arrived in a damaged packet, or its padding holds other data.
    package private(set) var frameIsDamaged = false
    /// Number of codec frames, modulo 4, missing between the last two according to the sequence numbers.
    package private(set) var framesMissedBefore = 0
    /// The sequence numbers of the last two are known and plausible.
    package private(set) var isNumbered = false
    /// Bytes outside any codec frame since the last complete one, or until that one when `hasFrame`.
    package private(set) var skippedBeforeFrame = 0

    /// Number of sequence numbers that did not follow the previous one.
    package private(set) var sequenceGaps = 0
    /// Codec frames missing according to those numbers.
    package private(set) var framesMissed = 0
    /// Number of restarted searches.
    package private(set) var resyncs = 0
    /// Bytes outside any codec frame.
    package private(set) var bytesSkipped = 0
    /// Bytes reassigned from the end of one codec frame to the beginning of the next.
    package private(set) var bytesTakenBack = 0

    /// - Parameter hasSyncword: true for mSBC, false for LC3.
    package init(hasSyncword: Bool = true) {
        self.hasSyncword = hasSyncword
        let count = Self.tailBytes + Self.frameBytes + Self.patternBytes
        storage = UnsafeMutablePointer<UInt8>.allocate(capacity: count)
        storage.initialize(repeating: 0, count: count)
        buffer = storage + Self.tailBytes
    }

    deinit { storage.deallocate() }

    /// The 57 or 58 bytes of the complete codec frame. Valid while `hasFrame`.
    package var frame: UnsafePointer<UInt8> {
        @_noLocks get { UnsafePointer(buffer + Self.headerBytes) }
    }

    /// Bytes of an incomplete or possible codec frame.
    package var pendingBytes: Int {
        @_noLocks get { hasFrame ? fill &- Self.frameBytes : fill }
    }

    /// Consumes bytes up to and including the end of a codec frame, or all `count`; returns how many.
    ///
    /// - Parameter isDamaged: these bytes arrived with a bad packet status, or are known to be meaningless.
    @_noLocks
    package mutating func consume(_ bytes: UnsafePointer<UInt8>, _ count: Int, isDamaged: Bool) -> Int {
        if hasFrame { begin() }
        var taken = 0
        while taken < count {
            if hasSyncword && !isDamaged && fill >= Self.patternBytes {
                taken &+= takeInside(bytes + taken, count &- taken)
                if taken == count { return taken }
            }
            buffer[fill] = bytes[taken]
            fill &+= 1
            taken &+= 1
            if isDamaged {
                if damagedEnd == 0 { damagedStart = fill &- 1 }
                damagedEnd = fill
            }
            if hasSyncword { look() } else { lookForHeader() }
            if isComplete() {
                complete()
                return taken
            }
        }
        return taken
    }

    /// Takes the bytes that decide nothing, most of a codec frame: each is between pattern and padding, and no pattern ends
    /// with it, because those end with 0. Returns how many.
    @_noLocks
    private mutating func takeInside(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Int {
        let room = Self.frameBytes &- 1 &- fill
        let most = count < room ? count : room
        if most <= 0 { return 0 }
        let taken = btcall_copy_until_zero(buffer + fill, bytes, most)
        fill &+= taken
        return taken
    }

    /// Ends the input. Returns true when the bytes end in a codec frame that no later one confirms: `frame` is then that
    /// one.
    @_noLocks
    package mutating func finish() -> Bool {
        if hasFrame || fill < Self.frameBytes { return false }
        complete()
        return true
    }

    /// Whether the buffer holds a codec frame and all bytes that decide whether it is one.
    @_noLocks
    private func isComplete() -> Bool {
        if !hasSyncword { return fill == Self.frameBytes && isInStep || fill > Self.frameBytes &+ 1 }
        if fill == Self.frameBytes &+ Self.patternBytes { return true }
        return fill >= Self.frameBytes && innerStart == 0 && !isPaddingWrong
    }

    /// Whether a headset that always sends zero padding sent another value, which is not the beginning of a header.
    private var isPaddingWrong: Bool {
        @_noLocks get {
            zeroPaddings == Self.trustedPaddings && damagedEnd == 0 && buffer[Self.frameBytes &- 1] != 0
                && !endsInHeader(1)
        }
    }

    /// Whether the codec frame ends in the beginning of a header with syncword, of at least `least` bytes.
    @_noLocks
    private func endsInHeader(_ least: Int) -> Bool {
        let end = buffer + Self.frameBytes
        if least == 1 && end[-1] == 0x01 { return true }
        if end[-2] == 0x01 && Self.sequence(of: end[-1]) >= 0 { return true }
        if end[-3] == 0x01 && Self.sequence(of: end[-2]) >= 0 && end[-1] == 0xAD { return true }
        return end[-4] == 0x01 && Self.sequence(of: end[-3]) >= 0 && end[-2] == 0xAD && end[-1] == 0
    }

    /// Resets everything but the counters, as for a new link.
    @_noLocks
    package mutating func reset() {
        fill = 0
        isInStep = false
        lastSequence = -1
        repeats = 0
        zeroPaddings = 0
        damagedStart = 0
        damagedEnd = 0
        innerStart = 0
        hasFrame = false
        skippedBeforeFrame = 0
        framesMissedBefore = 0
    }

    /// Makes room after a complete codec frame.
    @_noLocks
    private mutating func begin() {
        btcall_move(storage, buffer + (Self.frameBytes &- Self.tailBytes), Self.tailBytes)
        hasFrame = false
        // The next header may already be here, to confirm the last one.
        fill &-= Self.frameBytes
        dropDamaged(Self.frameBytes)
        btcall_move(buffer, buffer + Self.frameBytes, fill)
        skippedBeforeFrame = 0
        if fill > 0 { noteHeader() }
    }

    /// Handles one more byte in the buffer.
    @_noLocks
    private mutating func look() {
        if fill > Self.patternBytes {
            let start = fill &- Self.patternBytes
            // Controllers replace a lost packet by a copy of an older one.
            if innerStart == 0, start < Self.frameBytes, damagedEnd <= start, patternEnds(at: buffer + fill) {
                innerStart = start
            }
            if fill == Self.frameBytes &+ Self.patternBytes, isFrameWithin() { moveToFrameWithin() }
        } else if isInStep {
            if fill < Self.patternBytes { return }
            if isInPlace(at: 0) { noteHeader() } else { loseStep() }
        } else {
            while fill > 0 && !isPrefix() { skip(1) }
            if fill == Self.patternBytes { noteHeader() }
        }
    }

    /// Whether the codec frame begins with the inner pattern, not at the beginning of the buffer.
    @_noLocks
    private func isFrameWithin() -> Bool {
        if innerStart == 0 { return false }
        if !isInPlace(at: Self.frameBytes) { return true }
        // A search may have started at the wrong one of two patterns that both repeat.
        return !isInStep && !isChecksumRight(at: 0) && isChecksumRight(at: innerStart)
    }

    @_noLocks
    private mutating func moveToFrameWithin() {
        skip(innerStart)
        noteHeader()
        var start = 1
        while innerStart == 0 && start <= fill &- Self.patternBytes {
            if damagedEnd <= start, patternEnds(at: buffer + (start &+ Self.patternBytes)) { innerStart = start }
            start &+= 1
        }
    }

    /// Whether the checksum is right for an mSBC frame whose header is at `start`: CRC-8 with polynomial 0x1D from 0x0F, over the reserved
    /// bytes and the scale factors (A2DP 1.4, appendix B, §12.6.1.1).
    @_noLocks
    private func isChecksumRight(at start: Int) -> Bool {
        if fill < start &+ Self.checkedBytes { return false }
        let header = buffer + (start &+ Self.headerBytes)
        var sum: UInt8 = 0x0F
        var index = 1
        while index < 8 {
            if index != 3 {
                sum ^= header[index]
                var bit = 0
                while bit < 8 {
                    sum = sum & 0x80 != 0 ? (sum << 1) ^ 0x1D : sum << 1
                    bit &+= 1
                }
            }
            index &+= 1
        }
        return sum == header[3]
    }

    /// Handles one more byte in the buffer without a syncword.
    @_noLocks
    private mutating func lookForHeader() {
        if isInStep {
            if fill != Self.headerBytes { return }
            if damagedEnd > 0 || isNearlyHeader() {
                noteHeader()
                return
            }
            skip(1)
        }
        var isOther = fill == Self.headerBytes
        while fill > 0 && !isHeaderOrPart() {
            skip(1)
            isOther = true
        }
        if isOther && fill >= Self.headerBytes { noteHeader() }
    }

    /// Whether the buffer begins with a header, and with the next one in its place, as far as the bytes reach.
    @_noLocks
    private func isHeaderOrPart() -> Bool {
        if buffer[0] != 0x01 { return false }
        if fill > 1 && Self.sequence(of: buffer[1]) < 0 { return false }
        if fill > Self.frameBytes && buffer[Self.frameBytes] != 0x01 && !isDamaged(Self.frameBytes) { return false }
        let last = Self.frameBytes &+ 1
        return fill <= last || Self.sequence(of: buffer[last]) >= 0 || isDamaged(last)
    }

    @_noLocks
    private func isDamaged(_ index: Int) -> Bool { index >= damagedStart && index < damagedEnd }

    /// Whether this is a header with at most one wrong bit.
    @_noLocks
    private func isNearlyHeader() -> Bool {
        if Self.sequence(of: buffer[1]) >= 0 { return (buffer[0] ^ 0x01).nonzeroBitCount <= 1 }
        if buffer[0] != 0x01 { return false }
        let wrong = buffer[1]
        return (wrong ^ 0x08).nonzeroBitCount == 1 || (wrong ^ 0x38).nonzeroBitCount == 1
            || (wrong ^ 0xC8).nonzeroBitCount == 1 || (wrong ^ 0xF8).nonzeroBitCount == 1
    }

    /// Whether a codec frame can begin at `start`, as far as is known.
    @_noLocks
    private func isInPlace(at start: Int) -> Bool {
        if damagedEnd > start { return true }
        let header = buffer + start
        if header[0] == 0x01 && Self.sequence(of: header[1]) >= 0 { return true }
        // A headset may use the reserved bytes, but then its headers must be correct.
        return header[2] == 0xAD && header[3] == 0 && header[4] == 0
    }

    @_noLocks
    private mutating func noteHeader() {
        isHeaderSound = damagedEnd == 0 && buffer[0] == 0x01 && Self.sequence(of: buffer[1]) >= 0
    }

    /// Handles a missing codec frame: it may begin some bytes earlier or later.
    @_noLocks
    private mutating func loseStep() {
        var early = 1
        while early <= Self.tailBytes {
            if patternEnds(at: buffer + (Self.patternBytes &- early)) {
                btcall_move(buffer, buffer - early, fill &+ early)
                fill &+= early
                bytesTakenBack &+= early
                resyncs &+= 1
                noteHeader()
                return
            }
            early &+= 1
        }
        skip(1)
        while fill > 0 && !isPrefix() { skip(1) }
    }

    @_noLocks
    private mutating func complete() {
        hasFrame = true
        isInStep = true
        innerStart = 0
        frameIsDamaged = damagedEnd > 0 && damagedStart < Self.frameBytes || hasSyncword && !isWhole()
        if damagedEnd == 0 { notePadding() }
        framesMissedBefore = 0
        isNumbered = false
        if !isHeaderSound {
            if lastSequence >= 0 { lastSequence = (lastSequence &+ 1) & 3 }
            return
        }
        let sequence = Self.sequence(of: buffer[1])
        if lastSequence >= 0 {
            let missed = (sequence &- lastSequence &- 1) & 3
            repeats = missed == 3 ? repeats &+ 1 : 0
            if missed > 0 { sequenceGaps &+= 1 }
            if repeats <= Self.believedRepeats {
                isNumbered = true
                framesMissedBefore = missed
                framesMissed &+= missed
            }
        }
        lastSequence = sequence
    }

    /// Returns false when the padding holds other data, such as the beginning of the next header: bytes of this codec frame
    /// are missing. The decoder would not notice, because the checksum covers the first bytes only.
    @_noLocks
    private func isWhole() -> Bool {
        // Padding that a headset uses may look like the first byte of a header.
        if endsInHeader(zeroPaddings == Self.trustedPaddings ? 1 : 2) { return false }
        // With the next header in its place, any other value is a bit error in the padding, which costs nothing.
        return !isPaddingWrong || fill > Self.frameBytes && isInPlace(at: Self.frameBytes)
    }

    @_noLocks
    private mutating func notePadding() {
        if buffer[Self.frameBytes &- 1] != 0 {
            zeroPaddings = 0
        } else if zeroPaddings < Self.trustedPaddings {
            zeroPaddings &+= 1
        }
    }

    /// Drops the first `count` bytes of the buffer, which are not part of a codec frame.
    @_noLocks
    private mutating func skip(_ count: Int) {
        if isInStep {
            isInStep = false
            resyncs &+= 1
        }
        bytesSkipped &+= count
        skippedBeforeFrame &+= count
        fill &-= count
        innerStart = innerStart > count ? innerStart &- count : 0
        dropDamaged(count)
        btcall_move(buffer, buffer + count, fill)
    }

    /// Removes the first `count` bytes of the buffer.
    @_noLocks
    private mutating func dropDamaged(_ count: Int) {
        damagedStart = damagedStart > count ? damagedStart &- count : 0
        damagedEnd = damagedEnd > count ? damagedEnd &- count : 0
    }

    /// Whether the buffer may be the beginning of a codec frame.
    @_noLocks
    private func isPrefix() -> Bool {
        if buffer[0] != 0x01 { return false }
        if fill > 1 && Self.sequence(of: buffer[1]) < 0 { return false }
        if fill > 2 && buffer[2] != 0xAD { return false }
        if fill > 3 && buffer[3] != 0 { return false }
        return fill <= 4 || buffer[4] == 0
    }

    /// Whether a complete header, syncword and reserved bytes end right before `end`.
    @_noLocks
    private func patternEnds(at end: UnsafeMutablePointer<UInt8>) -> Bool {
        let start = end - Self.patternBytes
        if start[4] != 0 || start[3] != 0 || start[2] != 0xAD { return false }
        return start[0] == 0x01 && Self.sequence(of: start[1]) >= 0
    }

    /// Sequence number in the second byte of a header, or -1 if invalid.
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
}
