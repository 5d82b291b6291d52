/// Requested quality of an SBC stream, within the headset's limits.
package enum SBCQuality: String, Hashable, Sendable, CaseIterable {
    /// "High quality" of A2DP 1.4 table 4.7.
    case standard
    /// "SBC XQ": dual channel, each with its own bitpool, at 452 kbit/s; five codec frames still fit into a packet of five
    /// slots at 2 Mbit/s.
    case xq

    /// Order in which the channel modes are tried.
    var modes: [SBCCapabilities.ChannelMode] {
        switch self {
        case .standard: [.joint, .stereo, .dual, .mono]
        case .xq: [.dual, .joint, .stereo, .mono]
        }
    }
}

extension SBCConfiguration {
    package var channels: Int { mode == .mono ? 1 : 2 }

    /// Audio frames in a codec frame.
    package var codecFrameSamples: Int { blocks * subbands }

    /// Bytes of a codec frame (A2DP 1.4 §12.9).
    package func codecFrameBytes(bitpool: Int) -> Int {
        let bits =
            switch mode {
            case .mono: blocks * bitpool
            case .dual: 2 * blocks * bitpool
            case .stereo: blocks * bitpool
            case .joint: subbands + blocks * bitpool
            }
        return 4 + subbands * channels / 2 + (bits + 7) / 8
    }

    /// Bit rate of the codec frames without packet headers.
    package func bitsPerSecond(bitpool: Int) -> Int {
        codecFrameBytes(bitpool: bitpool) * 8 * rate / codecFrameSamples
    }

    /// Initial bitpool of a stream of this quality, within the agreed range.
    ///
    /// With four subbands a block is half as long as in the profile's table, and so are its bits.
    package func bitpool(_ quality: SBCQuality) -> Int {
        min(max(wantedBitpool(quality), minimumBitpool), maximumBitpool)
    }

    /// The same, without the agreed range.
    package func wantedBitpool(_ quality: SBCQuality) -> Int {
        let isHigh = rate > 44_100
        let wanted =
            switch (mode, quality) {
            case (.mono, _), (.dual, .standard): isHigh ? 29 : 31
            case (.dual, .xq): isHigh ? 35 : 38
            case (.stereo, .standard), (.joint, .standard): isHigh ? 51 : 53
            case (.stereo, .xq), (.joint, .xq): isHigh ? 70 : 76
            }
        return wanted * subbands / 8
    }

    /// Highest bitpool up to `wanted` whose codec frames have at most this many bytes; nil if the lowest agreed one is
    /// already too long.
    package func bitpool(_ wanted: Int, within bytes: Int) -> Int? {
        var bitpool = min(max(wanted, minimumBitpool), maximumBitpool)
        while bitpool > minimumBitpool && codecFrameBytes(bitpool: bitpool) > bytes { bitpool -= 1 }
        return codecFrameBytes(bitpool: bitpool) > bytes ? nil : bitpool
    }
}
