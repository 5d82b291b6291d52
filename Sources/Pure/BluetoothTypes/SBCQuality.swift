/// How good an SBC stream is to be, as far as the headset goes along.
package enum SBCQuality: String, Hashable, Sendable, CaseIterable {
    /// "High quality" of A2DP 1.4 table 4.7.
    case standard
    /// "SBC XQ": dual channel, of which each has a bitpool of its own, at 452 kbit/s; five codec frames still go in a packet
    /// of five slots at 2 Mbit/s.
    case xq

    /// In which order the channel modes are tried.
    var modes: [SBCCapabilities.ChannelMode] {
        switch self {
        case .standard: [.joint, .stereo, .dual, .mono]
        case .xq: [.dual, .joint, .stereo, .mono]
        }
    }
}

extension SBCConfiguration {
    package var channels: Int { mode == .mono ? 1 : 2 }

    /// Frames of audio in a codec frame.
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

    /// Of codec frames alone, without the packets around them.
    package func bitsPerSecond(bitpool: Int) -> Int {
        codecFrameBytes(bitpool: bitpool) * 8 * rate / codecFrameSamples
    }

    /// What a stream of this quality begins with, within what was agreed on.
    ///
    /// With four subbands a block is half as long as in the profile's table, and so are its bits.
    package func bitpool(_ quality: SBCQuality) -> Int {
        min(max(wantedBitpool(quality), minimumBitpool), maximumBitpool)
    }

    /// The same, whatever was agreed on.
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

    /// The highest bitpool, `wanted` or less, whose codec frames are no longer than so many bytes; nil where the lowest that
    /// was agreed on is too long already.
    package func bitpool(_ wanted: Int, within bytes: Int) -> Int? {
        var bitpool = min(max(wanted, minimumBitpool), maximumBitpool)
        while bitpool > minimumBitpool && codecFrameBytes(bitpool: bitpool) > bytes { bitpool -= 1 }
        return codecFrameBytes(bitpool: bitpool) > bytes ? nil : bitpool
    }
}
