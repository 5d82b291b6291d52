package import BluetoothTypes
import CBTCall
import CSBC

/// Encoder of an A2DP stream: `codecFrameSamples` audio frames in a codec frame whose length depends on the bitpool (A2DP
/// 1.4 §12).
package struct SBCEncoder: ~Copyable {
    /// 1 or 2.
    package let channels: Int
    /// Audio frames in a codec frame.
    package let codecFrameSamples: Int
    package private(set) var bitpool: Int
    /// Bytes of a codec frame at the present bitpool.
    package private(set) var frameBytes: Int
    private let state: UnsafeMutablePointer<sbc_t>
    /// A codec frame is this many bytes and eighths of bytes, plus the bits of the bitpool.
    private let fixedBytes: Int
    private let fixedBits: Int
    private let bitsPerBitpool: Int

    /// - Parameter bitpool: within the configuration's limits.
    package init(_ configuration: SBCConfiguration, bitpool: Int) {
        channels = configuration.channels
        codecFrameSamples = configuration.codecFrameSamples
        fixedBytes = 4 + configuration.subbands * configuration.channels / 2
        fixedBits = configuration.mode == .joint ? configuration.subbands : 0
        bitsPerBitpool = configuration.blocks * (configuration.mode == .dual ? 2 : 1)
        self.bitpool = bitpool
        frameBytes = configuration.codecFrameBytes(bitpool: bitpool)
        state = Self.makeState(configuration, bitpool: bitpool)
        // libsbc completes its set-up with the first codec frame; silence leaves its filter unchanged.
        let silence = [Int16](repeating: 0, count: codecFrameSamples * channels)
        var frame = [UInt8](repeating: 0, count: frameBytes)
        var written = 0
        btcall_sbc_encode(state, silence, silence.count * 2, &frame, frameBytes, &written)
        precondition(written == frameBytes, "libsbc makes codec frames of another length")
    }

    deinit {
        sbc_finish(state)
        state.deallocate()
    }

    /// Changes the codec frames' length, from the next one on.
    ///
    /// - Parameter bitpool: within the configuration's limits.
    @_noLocks
    package mutating func setBitpool(_ bitpool: Int) {
        self.bitpool = bitpool
        state.pointee.bitpool = UInt8(truncatingIfNeeded: bitpool)
        frameBytes = fixedBytes &+ (fixedBits &+ bitsPerBitpool &* bitpool &+ 7) / 8
    }

    /// Encodes `codecFrameSamples` interleaved frames. Returns `frameBytes`, or 0 when they do not fit or the library
    /// refused (our mistake).
    @_noLocks
    package mutating func encode(
        _ samples: UnsafePointer<Int16>, into frame: UnsafeMutablePointer<UInt8>, _ capacity: Int
    ) -> Int {
        if capacity < frameBytes { return 0 }
        var written = 0
        let size = codecFrameSamples &* channels &* 2
        let used = btcall_sbc_encode(state, samples, size, frame, frameBytes, &written)
        return used == size && written == frameBytes ? written : 0
    }

    private static func makeState(_ configuration: SBCConfiguration, bitpool: Int) -> UnsafeMutablePointer<sbc_t> {
        let state = UnsafeMutablePointer<sbc_t>.allocate(capacity: 1)
        state.initialize(to: sbc_t())
        let code = sbc_init(state, 0)
        precondition(code == 0, "libsbc is out of memory")
        state.pointee.frequency =
            switch configuration.rate {
            case 16_000: UInt8(SBC_FREQ_16000)
            case 32_000: UInt8(SBC_FREQ_32000)
            case 44_100: UInt8(SBC_FREQ_44100)
            default: UInt8(SBC_FREQ_48000)
            }
        state.pointee.mode =
            switch configuration.mode {
            case .mono: UInt8(SBC_MODE_MONO)
            case .dual: UInt8(SBC_MODE_DUAL_CHANNEL)
            case .stereo: UInt8(SBC_MODE_STEREO)
            case .joint: UInt8(SBC_MODE_JOINT_STEREO)
            }
        state.pointee.blocks =
            switch configuration.blocks {
            case 4: UInt8(SBC_BLK_4)
            case 8: UInt8(SBC_BLK_8)
            case 12: UInt8(SBC_BLK_12)
            default: UInt8(SBC_BLK_16)
            }
        state.pointee.subbands = UInt8(configuration.subbands == 4 ? SBC_SB_4 : SBC_SB_8)
        state.pointee.allocation = UInt8(configuration.allocation == .snr ? SBC_AM_SNR : SBC_AM_LOUDNESS)
        state.pointee.bitpool = UInt8(clamping: bitpool)
        // Samples are in native byte order.
        state.pointee.endian = UInt8(UInt16(1).littleEndian == 1 ? SBC_LE : SBC_BE)
        return state
    }
}
