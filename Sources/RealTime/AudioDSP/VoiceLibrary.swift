import CBTCall
import CSpeexDSP

#if WebRTC
    import CVoiceProcessing
#endif

/// The echo canceller and noise suppressor of one of the libraries, at 8 or 16 kHz, 10 ms at a time.
///
/// Where there is none (`none`) it copies.
struct VoiceLibrary: ~Copyable {
    let kind: VoiceProcessingKind
    /// How much later `cancel` and `suppress` give what they take, in frames.
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

    /// speexdsp's filter: the delay that is not known, and the room.
    private static let tailMilliseconds = 256
    /// Decibels that what is left of the echo is lowered by, and with a near end in it.
    private static let residual: Int32 = -60
    private static let residualWithNear: Int32 = -40
    /// Decibels, as much as webrtc's.
    private static let noise: Int32 = -12
    /// Blocks in which more comes out than went in, after which the filter is given up; the library's own limit is 50.
    private static var mostLoudBlocks: Int { @_noLocks get { 20 } }

    init(_ kind: VoiceProcessingKind, rate: Int) throws(VoiceProcessorError) {
        // A type that is not copied cannot give up half made: what can fail comes first.
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
        self.kind = kind
        self.frames = frames
        self.echo = echo
        self.preprocess = preprocess
        switch kind {
        case .webrtc:
            // Its blocks of 64 and what they overlap, and the overlap of windows of 256 (128).
            echoDelay = 112
            noiseDelay = rate == 8_000 ? 48 : 96
        case .speex:
            echoDelay = 0
            noiseDelay = frames
        case .none:
            echoDelay = 0
            noiseDelay = 0
        }
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

    /// speexdsp takes the rest of the echo out where it takes out noise.
    var finishesEchoWithNoise: Bool {
        @_noLocks get { echo != nil }
    }

    /// Takes the echo of `far` out of `near` into `result`, which is neither.
    ///
    /// speexdsp works at half the level, because the loudest signals of all make it give up and print a message.
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

    /// Takes the noise out of `input` into `result`, which is neither it nor `near`.
    ///
    /// - Parameters:
    ///   - near: what the microphone gave, before `cancel`.
    ///   - echo: speexdsp takes out what is left of the echo as well.
    ///   - noise: speexdsp takes out noise.
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

    /// Forgets the echo path.
    @_noLocks
    mutating func resetEcho() {
        #if WebRTC
            if let webrtc { btcall_webrtc_reset_echo(webrtc) }
        #endif
        if let echo { btcall_speex_reset_echo(UnsafeMutableRawPointer(echo)) }
        loudBlocks = 0
    }

    /// Forgets the noise; speexdsp cannot, and learns it anew within seconds.
    @_noLocks
    mutating func resetNoise() {
        #if WebRTC
            if let webrtc { btcall_webrtc_reset_noise(webrtc) }
        #endif
    }

    /// Gives up a filter that adds echo, before the library does, which would print a message.
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

/// Between 16 bits and floating point of the same range.
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

    /// Rounds; too loud becomes as loud as possible, what is no number silence.
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
