/// Who takes the echo out of the microphone, and the noise.
package enum VoiceProcessingKind: String, Sendable, CaseIterable {
    /// webrtc-audio-processing: converges within a second, weakens the near end in double talk by some decibels. Only with
    /// the package trait `WebRTC`; see ``isAvailable``.
    case webrtc
    /// speexdsp: weaker, slower, but leaves the near end alone.
    case speex
    /// Nobody: for a board or a headset that does it itself. High pass and automatic gain are still there.
    case none

    /// What is used where nothing else is asked for.
    package static var preferred: VoiceProcessingKind {
        #if WebRTC
            .webrtc
        #else
            .speex
        #endif
    }

    /// The program was built with what it needs.
    package var isAvailable: Bool {
        switch self {
        case .webrtc: Self.preferred == .webrtc
        case .speex, .none: true
        }
    }

    /// How to get a program that has webrtc-audio-processing.
    package static let howToBuild =
        "webrtc is not in this build: install libwebrtc-audio-processing-dev and build without `--disable-default-traits`, or"
        + " with `--traits WebRTC`"
}

/// What is done to the microphone.
package struct VoiceStages: BitwiseCopyable, OptionSet, Sendable {
    package let rawValue: UInt8

    @_noLocks
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    // Computed, because real-time code of other files cannot read a stored static in debug builds.

    package static var highPass: VoiceStages { @_noLocks get { VoiceStages(rawValue: 1) } }
    package static var echoCancellation: VoiceStages { @_noLocks get { VoiceStages(rawValue: 2) } }
    package static var noiseSuppression: VoiceStages { @_noLocks get { VoiceStages(rawValue: 4) } }
    package static var automaticGain: VoiceStages { @_noLocks get { VoiceStages(rawValue: 8) } }

    package static let all: VoiceStages = [.highPass, .echoCancellation, .noiseSuppression, .automaticGain]

    @_noLocks
    func has(_ stage: VoiceStages) -> Bool { rawValue & stage.rawValue != 0 }
}

package enum VoiceProcessorError: Error, Equatable, CustomStringConvertible {
    /// The configuration asks for what this program was built without.
    case unavailable(VoiceProcessingKind)
    /// Our mistake: 8, 16, 32 and 48 kHz are known.
    case unsupportedRate(Int)
    /// The library gave no state: no memory, or another library than was built for.
    case failed(VoiceProcessingKind)

    package var description: String {
        switch self {
        case .unavailable: VoiceProcessingKind.howToBuild
        case .unsupportedRate(let rate): "voice processing is for 8000, 16000, 32000 and 48000 Hz, not \(rate)"
        case .failed(let kind): "\(kind.rawValue) cannot be set up: no memory, or not the library that was built for"
        }
    }
}
