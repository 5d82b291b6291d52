#if WebRTC
    import CVoiceProcessing
#endif

/// Implementation of echo cancellation and noise suppression for the microphone.
package enum VoiceProcessingKind: String, Sendable, CaseIterable {
    /// webrtc-audio-processing: converges within a second, weakens the near end in double talk by some decibels. Only with
    /// the package trait `WebRTC`; see ``isAvailable``.
    case webrtc
    /// speexdsp: weaker and slower, but leaves the near end unchanged.
    case speex
    /// None: for a board or a headset that does it itself. High pass and automatic gain remain.
    case none

    /// Default without another request.
    package static var preferred: VoiceProcessingKind {
        #if WebRTC
            .webrtc
        #else
            .speex
        #endif
    }

    /// The program was built with the required library.
    package var isAvailable: Bool {
        switch self {
        case .webrtc: Self.preferred == .webrtc
        case .speex, .none: true
        }
    }

    /// Name and version of the library that this program was built for; nil without it.
    package static var webRTCLibrary: String? {
        #if WebRTC
            String(cString: btcall_webrtc_library())
        #else
            nil
        #endif
    }

    /// Instructions for a build with webrtc-audio-processing.
    package static let howToBuild =
        "webrtc is not in this build: install libwebrtc-audio-processing-dev and build without `--disable-default-traits`, or"
        + " with `--traits WebRTC`"
}

/// Processing stages of the microphone.
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
    /// The configuration requests a library that this program was built without.
    case unavailable(VoiceProcessingKind)
    /// Our mistake: only 8, 16, 32 and 48 kHz are supported.
    case unsupportedRate(Int)
    /// The library created no state: out of memory, or a different library than the one built for.
    case failed(VoiceProcessingKind)

    package var description: String {
        switch self {
        case .unavailable: VoiceProcessingKind.howToBuild
        case .unsupportedRate(let rate): "voice processing is for 8000, 16000, 32000 and 48000 Hz, not \(rate)"
        case .failed(let kind): "\(kind.rawValue) cannot be set up: out of memory, or the library of another build"
        }
    }
}
