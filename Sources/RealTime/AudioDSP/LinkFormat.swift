/// Audio format of a link's packets.
package enum LinkFormat: Equatable, Sendable {
    /// The controller encodes and decodes: signed 16 bit little-endian at 8 kHz.
    case cvsd
    /// mSBC codec frames with synchronisation headers, on a transparent link: 16 kHz.
    case mSBC
    /// LC3 codec frames with synchronisation headers, on a transparent link: 32 kHz. Only if ``LC3Codec/isAvailable``.
    case lc3SWB
    /// Signed 16 bit little-endian at `rate` Hz: the simulator's sound card.
    case pcm16(rate: Int)

    /// Sample rate of the audio in Hz, one channel.
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

    /// Packet bytes per second in each direction.
    package var bytesPerSecond: Int {
        @_noLocks get {
            switch self {
            case .cvsd: 16_000
            case .mSBC, .lc3SWB: 8_000
            case .pcm16(let rate): rate &* 2
            }
        }
    }

    /// Audio frames in a codec frame of 7.5 ms; 0 without codec frames.
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
