/// SBC capabilities of an A2DP endpoint, or those that two have in common (A2DP 1.4 §4.3.2, codec specific information
/// elements).
///
/// Any four bytes are capabilities; ``select()`` decides whether a configuration is possible.
package struct SBCCapabilities: Hashable, Sendable {
    package enum ChannelMode: String, Hashable, Sendable, CaseIterable {
        case mono, dual, stereo, joint
    }

    package enum Allocation: String, Hashable, Sendable, CaseIterable {
        case snr, loudness
    }

    /// Fields of which one value each is chosen.
    package enum Field: String, Hashable, Sendable, CustomStringConvertible {
        case rate = "sampling frequency"
        case mode = "channel mode"
        case blocks = "block length"
        case subbands = "number of subbands"
        case allocation = "allocation method"

        package var description: String { rawValue }
    }

    /// Sample rates in Hz. All lists are in the order of the profile, lowest value first.
    package var rates: [Int]
    package var modes: [ChannelMode]
    package var blocks: [Int]
    package var subbands: [Int]
    package var allocations: [Allocation]
    package var minimumBitpool: Int
    package var maximumBitpool: Int

    // Values of each field, starting with that of its highest bit.
    private static let allRates = [16_000, 32_000, 44_100, 48_000]
    private static let allBlocks = [4, 8, 12, 16]
    private static let allSubbands = [4, 8]

    /// Reads four bytes; any other number throws `SBCError.wrongSize`.
    package init(_ bytes: [UInt8]) throws(SBCError) {
        guard bytes.count == 4 else { throw .wrongSize(bytes.count) }
        rates = Self.values(Self.allRates, bits: bytes[0] >> 4)
        modes = Self.values(ChannelMode.allCases, bits: bytes[0] & 0xF)
        blocks = Self.values(Self.allBlocks, bits: bytes[1] >> 4)
        subbands = Self.values(Self.allSubbands, bits: bytes[1] >> 2 & 0x3)
        allocations = Self.values(Allocation.allCases, bits: bytes[1] & 0x3)
        minimumBitpool = Int(bytes[2])
        maximumBitpool = Int(bytes[3])
    }

    private static func values<Value>(_ all: [Value], bits: UInt8) -> [Value] {
        all.indices.filter { bits >> UInt8(all.count - 1 - $0) & 1 == 1 }.map { all[$0] }
    }

    /// Capabilities that both have. Fields may be empty and the bitpool range reversed: nothing in common.
    package func intersection(_ other: SBCCapabilities) -> SBCCapabilities {
        var result = self
        result.rates.removeAll { !other.rates.contains($0) }
        result.modes.removeAll { !other.modes.contains($0) }
        result.blocks.removeAll { !other.blocks.contains($0) }
        result.subbands.removeAll { !other.subbands.contains($0) }
        result.allocations.removeAll { !other.allocations.contains($0) }
        result.minimumBitpool = max(minimumBitpool, other.minimumBitpool)
        result.maximumBitpool = min(maximumBitpool, other.maximumBitpool)
        return result
    }

    /// Throws if the capabilities of one endpoint are invalid.
    ///
    /// Bitpool limits beyond 2…250 pass: `select` clamps them.
    package func check() throws(SBCError) {
        if let field = emptyField { throw .emptyField(field) }
        guard minimumBitpool <= maximumBitpool else { throw .bitpoolUpsideDown(minimumBitpool, maximumBitpool) }
    }

    /// These capabilities with both bitpool limits clamped to 2…250.
    private var clamped: SBCCapabilities {
        var result = self
        let bitpools = SBCConfiguration.bitpools
        result.minimumBitpool = min(max(minimumBitpool, bitpools.lowerBound), bitpools.upperBound)
        result.maximumBitpool = min(max(maximumBitpool, bitpools.lowerBound), bitpools.upperBound)
        return result
    }

    /// Returns the best configuration of one endpoint.
    package func select(_ quality: SBCQuality = .standard) throws(SBCError) -> SBCConfiguration {
        try check()
        return try clamped.best(quality)
    }

    /// Returns the best configuration that two endpoints have in common; each must be valid.
    package func select(
        with other: SBCCapabilities, _ quality: SBCQuality = .standard
    ) throws(SBCError) -> SBCConfiguration {
        try check()
        try other.check()
        let common = clamped.intersection(other.clamped)
        if let field = common.emptyField { throw .nothingInCommon(field) }
        guard common.minimumBitpool <= common.maximumBitpool else {
            throw .noCommonBitpool(minimumBitpool...maximumBitpool, other.minimumBitpool...other.maximumBitpool)
        }
        return try common.best(quality)
    }

    private var emptyField: Field? {
        if rates.isEmpty { return .rate }
        if modes.isEmpty { return .mode }
        if blocks.isEmpty { return .blocks }
        if subbands.isEmpty { return .subbands }
        return allocations.isEmpty ? .allocation : nil
    }

    /// Chooses the best of each field: the rate nearest to that of sound cards, the most blocks and subbands, loudness;
    /// joint stereo, or the mode that the quality prefers. Skips a mode whose codec frames have no room for the lowest
    /// bitpool.
    private func best(_ quality: SBCQuality) throws(SBCError) -> SBCConfiguration {
        guard let rate = rates.max(), let blocks = blocks.max(), let allocation = allocations.last else {
            throw .emptyField(emptyField ?? .rate)
        }
        for mode in quality.modes where modes.contains(mode) {
            for subbands in subbands.sorted(by: >) {
                let maximum = min(maximumBitpool, SBCConfiguration.highestBitpool(mode, subbands: subbands))
                guard minimumBitpool <= maximum else { continue }
                return SBCConfiguration(
                    rate: rate, mode: mode, blocks: blocks, subbands: subbands, allocation: allocation,
                    minimumBitpool: minimumBitpool, maximumBitpool: maximum)
            }
        }
        throw .bitpoolTooHigh(minimumBitpool)
    }
}

/// SBC configuration of two A2DP endpoints: one value of each field, and the bitpool range for the source.
package struct SBCConfiguration: Hashable, Sendable {
    /// Valid bitpools.
    package static let bitpools = 2...250

    package let rate: Int
    package let mode: SBCCapabilities.ChannelMode
    package let blocks: Int
    package let subbands: Int
    package let allocation: SBCCapabilities.Allocation
    package let minimumBitpool: Int
    package let maximumBitpool: Int

    /// Highest bitpool for which a mode's codec frames have room (A2DP 1.4 §12.9).
    static func highestBitpool(_ mode: SBCCapabilities.ChannelMode, subbands: Int) -> Int {
        let shares =
            switch mode {
            case .mono, .dual: 16
            case .stereo, .joint: 32
            }
        return min(shares * subbands, bitpools.upperBound)
    }

    /// The four bytes for `SetConfiguration` and `SelectConfiguration`.
    package var bytes: [UInt8] {
        let rateBit: UInt8 =
            switch rate {
            case 16_000: 0x80
            case 32_000: 0x40
            case 44_100: 0x20
            default: 0x10
            }
        let modeBit: UInt8 =
            switch mode {
            case .mono: 0x08
            case .dual: 0x04
            case .stereo: 0x02
            case .joint: 0x01
            }
        let blockBit: UInt8 =
            switch blocks {
            case 4: 0x80
            case 8: 0x40
            case 12: 0x20
            default: 0x10
            }
        let rest: UInt8 = (subbands == 4 ? 0x08 : 0x04) | (allocation == .snr ? 0x02 : 0x01)
        return [
            rateBit | modeBit, blockBit | rest, UInt8(clamping: minimumBitpool), UInt8(clamping: maximumBitpool),
        ]
    }
}

/// Reason for a missing SBC configuration. All of these can be caused by a peer; the endpoint is then not used.
package enum SBCError: Error, Hashable, CustomStringConvertible {
    case wrongSize(Int)
    case emptyField(SBCCapabilities.Field)
    /// A configuration has one value of each field.
    case severalValues(SBCCapabilities.Field)
    case bitpoolUpsideDown(Int, Int)
    /// Of a configuration only; capabilities are clamped.
    case bitpoolOutOfRange(Int, Int)
    case nothingInCommon(SBCCapabilities.Field)
    case noCommonBitpool(ClosedRange<Int>, ClosedRange<Int>)
    /// The lowest bitpool exceeds the codec frames of all modes.
    case bitpoolTooHigh(Int)

    package var description: String {
        switch self {
        case .wrongSize(let count): "wrong size: SBC capabilities are 4 bytes, not \(count)"
        case .emptyField(let field): "empty field: no \(field)"
        case .severalValues(let field): "more than one value of the \(field)"
        case .bitpoolUpsideDown(let low, let high): "the bitpool range is upside down: \(low) to \(high)"
        case .bitpoolOutOfRange(let low, let high): "the bitpool range \(low) to \(high) is not within 2 to 250"
        case .nothingInCommon(let field): "nothing in common: no \(field)"
        case .noCommonBitpool(let first, let second):
            "nothing in common: bitpools \(first.lowerBound) to \(first.upperBound) and \(second.lowerBound) to "
                + "\(second.upperBound)"
        case .bitpoolTooHigh(let low): "the lowest bitpool, \(low), is too high for the channel modes and subbands"
        }
    }
}

extension SBCConfiguration {
    /// Reads the four bytes of a configuration, with one value in each field. A maximum bitpool that exceeds the codec
    /// frames is lowered to their limit.
    package init(_ bytes: [UInt8]) throws(SBCError) {
        let fields = try SBCCapabilities(bytes)
        let (low, high) = (fields.minimumBitpool, fields.maximumBitpool)
        guard low > high || (Self.bitpools.contains(low) && Self.bitpools.contains(high)) else {
            throw .bitpoolOutOfRange(low, high)
        }
        self = try fields.select()
        if let field = fields.ambiguousField { throw .severalValues(field) }
    }
}

extension SBCCapabilities {
    fileprivate var ambiguousField: Field? {
        if rates.count > 1 { return .rate }
        if modes.count > 1 { return .mode }
        if blocks.count > 1 { return .blocks }
        if subbands.count > 1 { return .subbands }
        return allocations.count > 1 ? .allocation : nil
    }
}
