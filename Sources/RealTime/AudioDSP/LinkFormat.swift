/// How audio lies in the packets of a link.
package enum LinkFormat: Equatable, Sendable {
    /// The controller codes and decodes: signed 16 bit little-endian at 8 kHz.
    case cvsd
    /// Codec frames of mSBC with synchronisation headers, on a transparent link: 16 kHz.
    case mSBC
    /// Codec frames of LC3 with synchronisation headers, on a transparent link: 32 kHz. Only where
    /// ``LC3Codec/isAvailable``.
    case lc3SWB
    /// Signed 16 bit little-endian at `rate` frames per second: the simulator's sound card.
    case pcm16(rate: Int)

    /// Frames per second of the audio, one channel.
    package var rate: Int {
        @_noLocks get {
            switch self {
            case .cvsd: 8_000
            case .mSBC: 16_000
            case .lc3SWB: 32_000
            case .pcm16(let rate): rate
            }
        }
    }

    /// Bytes per second of the packets, each way.
    package var bytesPerSecond: Int {
        @_noLocks get {
            switch self {
            case .cvsd: 16_000
            case .mSBC, .lc3SWB: 8_000
            case .pcm16(let rate): rate &* 2
            }
        }
    }

    /// Audio frames of a codec frame of 7.5 ms; 0 where there are no codec frames.
    package var codecFrameSamples: Int {
        @_noLocks get {
            switch self {
            case .mSBC: MSBCCodec.frameSamples
            case .lc3SWB: LC3Codec.frameSamples
            case .cvsd, .pcm16: 0
            }
        }
    }
}
