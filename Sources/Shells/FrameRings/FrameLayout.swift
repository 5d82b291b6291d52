/// Size, rate and place in memory of a ring's frames (dbus/org.btcall.Video1.md, Frames in shared memory).
///
/// Every position lies inside the ring's memory: both initialisers refuse anything else.
package struct FrameLayout: Hashable, Sendable {
    /// One of the three planes of a picture, one byte for each value.
    package struct Plane: Hashable, Sendable {
        /// From the beginning of a slot, in bytes.
        package let offset: Int
        /// From one row to the next, in bytes.
        package let stride: Int
        /// Values in a row, and rows.
        package let width: Int
        package let height: Int

        var isPacked: Bool { stride == width }
        /// Bytes without the padding of rows.
        package var packedBytes: Int { width * height }
    }

    package static let acceptedSides = 1...4096
    package static let mostPixels = 4096 * 2304
    /// In thousandths of a frame per second.
    static let acceptedThousandths = 1...1_000_000
    /// What is accepted, for messages.
    package static let accepted =
        "a width and a height of \(acceptedSides.lowerBound) to \(acceptedSides.upperBound) pixels with at most "
        + "\(mostPixels) pixels, and 0.001 to 1000 frames per second"

    /// Bytes of the header, and of the head of each slot.
    package static let headerBytes = 4096
    package static let headBytes = 64
    private static let standardSlots = 3
    private static let acceptedSlots = 2...16
    /// Slots begin at a multiple of this.
    private static let alignment = 64
    private static let pageBytes = 4096

    /// Pixels.
    package let width: Int
    package let height: Int
    /// Frames per second, in thousandths.
    package let rateThousandths: Int
    /// Luma, then the two of chroma, which have half the size, rounded up (I420).
    package let luma: Plane
    package let blue: Plane
    package let red: Plane
    let slotBytes: Int
    let slotCount: Int
    /// Of the first slot, from the beginning of the memory, in bytes.
    let firstSlot: Int

    /// The layout of a new ring: rows without padding, the planes one after the other.
    ///
    /// - Throws: `unaccepted`.
    package init(width: Int, height: Int, framesPerSecond: Double) throws(FrameRingError) {
        let thousandths = framesPerSecond.isFinite ? (min(max(framesPerSecond, -1), 2_000) * 1000).rounded() : -1
        try self.init(width: width, height: height, thousandths: Int(thousandths))
    }

    private init(width: Int, height: Int, thousandths: Int) throws(FrameRingError) {
        try Self.check(width, height, thousandths)
        self.width = width
        self.height = height
        rateThousandths = thousandths
        let (chromaWidth, chromaHeight) = ((width + 1) / 2, (height + 1) / 2)
        luma = Plane(offset: Self.headBytes, stride: width, width: width, height: height)
        blue = Plane(
            offset: luma.offset + luma.packedBytes, stride: chromaWidth, width: chromaWidth, height: chromaHeight)
        red = Plane(
            offset: blue.offset + blue.packedBytes, stride: chromaWidth, width: chromaWidth, height: chromaHeight)
        let end = red.offset + red.packedBytes
        slotBytes = (end + Self.pageBytes - 1) / Self.pageBytes * Self.pageBytes
        slotCount = Self.standardSlots
        firstSlot = Self.headerBytes
    }

    package var framesPerSecond: Double { Double(rateThousandths) / 1000 }
    package var planes: [Plane] { [luma, blue, red] }
    /// Bytes of a frame whose rows have no padding.
    package var frameBytes: Int { luma.packedBytes + blue.packedBytes + red.packedBytes }
    package var memoryBytes: Int { firstSlot + slotCount * slotBytes }
    /// Whether a frame in a slot is the same as one without padding.
    var isPacked: Bool {
        luma.isPacked && blue.isPacked && red.isPacked && blue.offset == luma.offset + luma.packedBytes
            && red.offset == blue.offset + blue.packedBytes
    }

    /// Beginning of the slot of a frame.
    ///
    /// - Parameter number: from 1.
    func slot(of number: UInt64) -> Int {
        firstSlot + Int((number &- 1) % UInt64(slotCount)) * slotBytes
    }

    private static func check(_ width: Int, _ height: Int, _ thousandths: Int) throws(FrameRingError) {
        guard acceptedSides.contains(width), acceptedSides.contains(height), width * height <= mostPixels,
            acceptedThousandths.contains(thousandths)
        else {
            throw .unaccepted("\(width)x\(height) at \(Double(thousandths) / 1000) per second; accepted: \(accepted)")
        }
    }
}

// MARK: The header

extension FrameLayout {
    /// Places in the header, in bytes. Numbers are little-endian; those not named here have 32 bits.
    enum Place {
        /// Four characters.
        static let magic = 0
        static let version = 4
        static let width = 8
        static let height = 12
        /// Four characters.
        static let format = 16
        static let slotCount = 20
        static let rate = 24
        /// Three each.
        static let strides = 32
        static let offsets = 48
        /// 64 bits.
        static let slotBytes = 64
        static let firstSlot = 72
        /// What the writer changes: the first has 64 bits.
        static let written = 128
        static let ended = 136
    }

    private static let magic = Array("BTVR".utf8)
    private static let format = Array("I420".utf8)
    private static let version = 1

    /// The bytes that a new ring begins with.
    var header: [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.headerBytes)
        func put(_ number: Int, _ place: Int, bytes count: Int = 4) {
            for index in 0..<count { bytes[place + index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        }
        bytes.replaceSubrange(Place.magic..<Place.magic + 4, with: Self.magic)
        bytes.replaceSubrange(Place.format..<Place.format + 4, with: Self.format)
        put(Self.version, Place.version)
        put(width, Place.width)
        put(height, Place.height)
        put(slotCount, Place.slotCount)
        put(rateThousandths, Place.rate)
        for (index, plane) in planes.enumerated() {
            put(plane.stride, Place.strides + 4 * index)
            put(plane.offset, Place.offsets + 4 * index)
        }
        put(slotBytes, Place.slotBytes, bytes: 8)
        put(firstSlot, Place.firstSlot, bytes: 8)
        return bytes
    }

    /// Reads the header of a ring that somebody else has made.
    ///
    /// - Parameters:
    ///   - bytes: a copy, which nobody changes any more.
    ///   - limit: size of the memory in bytes.
    /// - Throws: `invalid`, `unaccepted`.
    init(header bytes: [UInt8], limit: Int) throws(FrameRingError) {
        guard bytes.count >= Self.headerBytes else { throw .invalid("it has \(bytes.count) bytes") }
        func number(_ place: Int, bytes count: Int = 4) -> UInt64 {
            (0..<count).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
        }
        func small(_ place: Int) -> Int { Int(number(place)) }
        guard Array(bytes[Place.magic..<Place.magic + 4]) == Self.magic else { throw .invalid("it has another magic") }
        guard small(Place.version) == Self.version else {
            throw .invalid("version \(small(Place.version)); accepted: \(Self.version)")
        }
        guard Array(bytes[Place.format..<Place.format + 4]) == Self.format else {
            throw .invalid("its format is not I420")
        }
        width = small(Place.width)
        height = small(Place.height)
        rateThousandths = small(Place.rate)
        try Self.check(width, height, rateThousandths)
        let (slots, bytesOfSlot) = (small(Place.slotCount), number(Place.slotBytes, bytes: 8))
        let first = number(Place.firstSlot, bytes: 8)
        guard Self.acceptedSlots.contains(slots), first >= UInt64(Self.headerBytes),
            first % UInt64(Self.alignment) == 0, bytesOfSlot % UInt64(Self.alignment) == 0, limit > 0,
            first <= UInt64(limit),
            bytesOfSlot <= (UInt64(limit) - first) / UInt64(slots)
        else { throw .invalid("\(slots) slots of \(bytesOfSlot) bytes from \(first) do not fit into \(limit) bytes") }
        (slotCount, slotBytes, firstSlot) = (slots, Int(bytesOfSlot), Int(first))
        let (chromaWidth, chromaHeight) = ((width + 1) / 2, (height + 1) / 2)
        func plane(_ index: Int, _ width: Int, _ height: Int) throws(FrameRingError) -> Plane {
            let plane = Plane(
                offset: small(Place.offsets + 4 * index), stride: small(Place.strides + 4 * index), width: width,
                height: height)
            // Each is below 2^32, and the height below 2^13: no overflow.
            guard plane.stride >= width, plane.offset >= Self.headBytes,
                plane.offset + plane.stride * (height - 1) + width <= Int(bytesOfSlot)
            else { throw .invalid("plane \(index) does not fit into a slot") }
            return plane
        }
        luma = try plane(0, width, height)
        blue = try plane(1, chromaWidth, chromaHeight)
        red = try plane(2, chromaWidth, chromaHeight)
    }
}
