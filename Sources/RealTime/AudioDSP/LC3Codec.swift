import CBTCall

#if LC3
    import CLC3
#endif

/// Super wide band codec of a headset: 240 frames of 32 kHz audio (7.5 ms) in 58 bytes (HFP 1.9, appendix on LC3-SWB).
///
/// Available only with the package trait `LC3`; see ``isAvailable``. Otherwise nothing is encoded and everything counts as
/// lost.
package struct LC3Codec: ~Copyable {
    // Computed, because real-time code of other files cannot read a stored static in debug builds.

    /// Bytes of a codec frame, without synchronisation header.
    package static var frameBytes: Int { @_noLocks get { 58 } }
    /// Audio frames in a codec frame.
    package static var frameSamples: Int { @_noLocks get { 240 } }

    /// The program was built with liblc3.
    package static var isAvailable: Bool {
        #if LC3
            true
        #else
            false
        #endif
    }

    /// Instructions for a build with LC3.
    package static let howToBuild =
        "LC3-SWB is not in this build: install liblc3-dev and build with `--traits WebRTC,LC3`"

    #if LC3
        private let encoderMemory: UnsafeMutableRawPointer
        private let decoderMemory: UnsafeMutableRawPointer
        private let encoder: UnsafeMutableRawPointer?
        private let decoder: UnsafeMutableRawPointer?

        private static let frameMicroseconds: Int32 = 7_500
        private static let rate: Int32 = 32_000

        package init() {
            encoderMemory = Self.memory(lc3_encoder_size(Self.frameMicroseconds, Self.rate))
            decoderMemory = Self.memory(lc3_decoder_size(Self.frameMicroseconds, Self.rate))
            encoder = UnsafeMutableRawPointer(
                lc3_setup_encoder(Self.frameMicroseconds, Self.rate, 0, encoderMemory))
            decoder = UnsafeMutableRawPointer(
                lc3_setup_decoder(Self.frameMicroseconds, Self.rate, 0, decoderMemory))
        }

        deinit {
            encoderMemory.deallocate()
            decoderMemory.deallocate()
        }

        private static func memory(_ bytes: UInt32) -> UnsafeMutableRawPointer {
            let memory = UnsafeMutableRawPointer.allocate(
                byteCount: Int(bytes), alignment: MemoryLayout<Double>.alignment)
            memory.initializeMemory(as: UInt8.self, repeating: 0, count: Int(bytes))
            return memory
        }

        /// Encodes 240 frames of `samples` to 58 bytes of `frame`. Returns false when the library refused (our mistake).
        @_noLocks
        package mutating func encode(_ samples: UnsafePointer<Int16>, into frame: UnsafeMutablePointer<UInt8>) -> Bool {
            guard let encoder else { return false }
            return btcall_lc3_encode(
                encoder, BTCALL_LC3_S16, samples, 1, Int32(Self.frameBytes), frame) == 0
        }

        /// Decodes 58 bytes of `frame` to 240 frames of `samples`.
        ///
        /// Returns false when the frame is damaged; `samples` is then unusable. The codec has no checksum: the library
        /// notices some damage, not all.
        @_noLocks
        package mutating func decode(
            _ frame: UnsafePointer<UInt8>, into samples: UnsafeMutablePointer<Int16>
        ) -> Bool {
            guard let decoder else { return false }
            return btcall_lc3_decode(decoder, frame, Int32(Self.frameBytes), BTCALL_LC3_S16, samples, 1) == 0
        }

        /// Reports a lost codec frame to the decoder, which conceals 240 frames.
        @_noLocks
        package mutating func conceal(into samples: UnsafeMutablePointer<Int16>) {
            guard let decoder else { return }
            _ = btcall_lc3_decode(decoder, nil, Int32(Self.frameBytes), BTCALL_LC3_S16, samples, 1)
        }
    #else
        package init() {}

        @_noLocks
        package mutating func encode(_ samples: UnsafePointer<Int16>, into frame: UnsafeMutablePointer<UInt8>) -> Bool {
            false
        }

        @_noLocks
        package mutating func decode(
            _ frame: UnsafePointer<UInt8>, into samples: UnsafeMutablePointer<Int16>
        ) -> Bool {
            false
        }

        @_noLocks
        package mutating func conceal(into samples: UnsafeMutablePointer<Int16>) {}
    #endif
}
