import CBTCall
import CSpeexDSP

#if WebRTC
    import CVoiceProcessing
#endif

/// Echo canceller and noise suppressor of one of the libraries, at 8 or 16 kHz, 10 ms at a time.
///
/// Without a library (`none`) it copies.
struct VoiceLibrary: ~Copyable {
    let kind: VoiceProcessingKind
    /// Delays of `cancel` and `suppress`, in frames.
    let echoDelay: Int
    let noiseDelay: Int
    private let frames: Int

    #if WebRTC
        private let webrtc: OpaquePointer?
    #endif
    private let echo: OpaquePointer?
    private let preprocess: OpaquePointer?
    private let near: UnsafeMutablePointer<Int16>
    private let far: UnsafeMutablePointer<Int16>
    private let output: UnsafeMutablePointer<Int16>
    private let value: UnsafeMutablePointer<Int32>
    private var loudBlocks = 0
    private var takesEcho = false
    private var takesNoise = false

    /// Length of speexdsp's filter: the uncertain part of the delay, and the room.
    private static let tailMilliseconds = 256
    /// Reduction of the residual echo in decibels, without and with a near end in it.
    private static let residual: Int32 = -60
    private static let residualWithNear: Int32 = -40
    /// Decibels, as with webrtc.
    private static let noise: Int32 = -12
    /// Number of blocks louder than their input after which the filter is reset; the library's own limit is 50.
    private static var mostLoudBlocks: Int { @_noLocks get { 20 } }

    init(_ kind: VoiceProcessingKind, rate: Int) throws(VoiceProcessorError) {
        // A noncopyable type cannot fail half initialised: anything that can fail comes first.
        if !kind.isAvailable { throw .unavailable(kind) }
        let frames = rate / 100
        var echo: OpaquePointer?
        var preprocess: OpaquePointer?
        if kind == .speex {
            echo = speex_echo_state_init(Int32(frames), Int32(rate * Self.tailMilliseconds / 1000))
            preprocess = speex_preprocess_state_init(Int32(frames), Int32(rate))
            guard echo != nil, preprocess != nil else {
                if let echo { speex_echo_state_destroy(echo) }
                if let preprocess { speex_preprocess_state_destroy(preprocess) }
                throw .failed(kind)
            }
        }
        #if WebRTC
            let webrtc = kind == .webrtc ? btcall_webrtc_create(Int32(rate)) : nil
            if kind == .webrtc && webrtc == nil { throw .failed(kind) }
            self.webrtc = webrtc
        #endif
        (echoDelay, noiseDelay) = Self.delays(kind, rate: rate)
        self.kind = kind
        self.frames = frames
        self.echo = echo
        self.preprocess = preprocess
        near = .allocate(capacity: frames)
        near.initialize(repeating: 0, count: frames)
        far = .allocate(capacity: frames)
        far.initialize(repeating: 0, count: frames)
        output = .allocate(capacity: frames)
        output.initialize(repeating: 0, count: frames)
        value = .allocate(capacity: 1)
        value.initialize(to: Int32(rate))
        if let echo, let preprocess {
            speex_echo_ctl(echo, SPEEX_ECHO_SET_SAMPLING_RATE, value)
            for (request, number) in [
                (SPEEX_PREPROCESS_SET_NOISE_SUPPRESS, Self.noise), (SPEEX_PREPROCESS_SET_ECHO_SUPPRESS, Self.residual),
                (SPEEX_PREPROCESS_SET_ECHO_SUPPRESS_ACTIVE, Self.residualWithNear), (SPEEX_PREPROCESS_SET_DENOISE, 0),
            ] {
                value.pointee = number
                speex_preprocess_ctl(preprocess, request, value)
            }
        }
    }

    deinit {
        #if WebRTC
            if let webrtc { btcall_webrtc_destroy(webrtc) }
        #endif
        if let echo { speex_echo_state_destroy(echo) }
        if let preprocess { speex_preprocess_state_destroy(preprocess) }
        near.deallocate()
        far.deallocate()
        output.deallocate()
        value.deallocate()
    }

    private static func delays(_ kind: VoiceProcessingKind, rate: Int) -> (echo: Int, noise: Int) {
        switch kind {
        case .webrtc:
            #if WebRTC
                return (Int(btcall_webrtc_echo_delay(Int32(rate))), Int(btcall_webrtc_noise_delay(Int32(rate))))
            #else
                return (0, 0)
            #endif
        case .speex: return (0, rate / 100)
        case .none: return (0, 0)
        }
    }

    /// speexdsp removes the residual echo together with the noise.
    var finishesEchoWithNoise: Bool {
        @_noLocks get { echo != nil }
    }

    /// Cancels the echo of `far` in `near`, into `result`, which is neither.
    ///
    /// speexdsp runs at half the level, because the loudest signals of all make it give up and print a message.
    @_noLocks
    mutating func cancel(
        _ far: UnsafePointer<Float>, _ near: UnsafePointer<Float>, into result: UnsafeMutablePointer<Float>
    ) {
        #if WebRTC
            if let webrtc {
                btcall_webrtc_cancel(webrtc, far, near, result)
                return
            }
        #endif
        guard let echo else { return copy(near, into: result) }
        VoiceSamples.round(near, into: self.near, frames, halved: true)
        VoiceSamples.round(far, into: self.far, frames, halved: true)
        btcall_speex_cancel(UnsafeMutableRawPointer(echo), self.near, self.far, output)
        VoiceSamples.widen(output, into: result, frames, doubled: true)
        watch(near, result)
    }

    /// Suppresses the noise of `input`, into `result`, which is neither it nor `near`.
    ///
    /// - Parameters:
    ///   - near: microphone before `cancel`.
    ///   - echo: speexdsp also removes the residual echo.
    ///   - noise: speexdsp removes noise.
    @_noLocks
    mutating func suppress(
        near: UnsafePointer<Float>, _ input: UnsafePointer<Float>, into result: UnsafeMutablePointer<Float>,
        echo takesEcho: Bool, noise takesNoise: Bool
    ) {
        #if WebRTC
            if let webrtc {
                btcall_webrtc_suppress(webrtc, near, input, result)
                return
            }
        #endif
        guard let echo, let preprocess else { return copy(input, into: result) }
        let state = UnsafeMutableRawPointer(preprocess)
        if takesEcho != self.takesEcho {
            self.takesEcho = takesEcho
            _ = btcall_speex_preprocess_set(
                state, SPEEX_PREPROCESS_SET_ECHO_STATE, takesEcho ? UnsafeMutableRawPointer(echo) : nil)
        }
        if takesNoise != self.takesNoise {
            self.takesNoise = takesNoise
            value.pointee = takesNoise ? 1 : 0
            _ = btcall_speex_preprocess_set(state, SPEEX_PREPROCESS_SET_DENOISE, UnsafeMutableRawPointer(value))
        }
        VoiceSamples.round(input, into: output, frames, halved: true)
        _ = btcall_speex_preprocess(state, output)
        VoiceSamples.widen(output, into: result, frames, doubled: true)
    }

    /// Resets the echo path.
    @_noLocks
    mutating func resetEcho() {
        #if WebRTC
            if let webrtc { btcall_webrtc_reset_echo(webrtc) }
        #endif
        if let echo { btcall_speex_reset_echo(UnsafeMutableRawPointer(echo)) }
        loudBlocks = 0
    }

    /// Resets the noise estimate; speexdsp cannot, and relearns it within seconds.
    @_noLocks
    mutating func resetNoise() {
        #if WebRTC
            if let webrtc { btcall_webrtc_reset_noise(webrtc) }
        #endif
    }

    /// Resets a filter that adds echo before the library does so and prints a message.
    @_noLocks
    private mutating func watch(_ input: UnsafePointer<Float>, _ result: UnsafePointer<Float>) {
        let before = btcall_inner_product(input, input, frames)
        let after = btcall_inner_product(result, result, frames)
        loudBlocks = after > before * 1.2 && after > 10_000 ? loudBlocks &+ 1 : 0
        if loudBlocks >= Self.mostLoudBlocks { resetEcho() }
    }

    @_noLocks
    private func copy(_ input: UnsafePointer<Float>, into result: UnsafeMutablePointer<Float>) {
        btcall_move(result, input, frames &* 4)
    }
}

/// Conversion between 16 bits and floating point of the same range.
enum VoiceSamples {
    @_noLocks
    static func widen(
        _ samples: UnsafePointer<Int16>, into result: UnsafeMutablePointer<Float>, _ frames: Int, doubled: Bool = false
    ) {
        let factor: Float = doubled ? 2 : 1
        var index = 0
        while index < frames {
            result[index] = Float(samples[index]) * factor
            index &+= 1
        }
    }

    /// Rounds; clips, and turns NaN into silence.
    @_noLocks
    static func round(
        _ samples: UnsafePointer<Float>, into result: UnsafeMutablePointer<Int16>, _ frames: Int, halved: Bool = false
    ) {
        let factor: Float = halved ? 0.5 : 1
        var index = 0
        while index < frames {
            let value = samples[index] * factor
            if value >= 32_767 {
                result[index] = 32_767
            } else if value <= -32_768 {
                result[index] = -32_768
            } else {
                result[index] = value == value ? Int16(value + (value < 0 ? -0.5 : 0.5)) : 0
            }
            index &+= 1
        }
    }
}
