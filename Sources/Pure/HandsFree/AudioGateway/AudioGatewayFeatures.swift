/// Our features as sent in +BRSF (HFP 1.9 §4.34.2). Bits 15 and up stay zero.
package struct AudioGatewayFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue & 0x7FFF
    }

    package static let threeWay = AudioGatewayFeatures(rawValue: 1 << 0)
    package static let echoCancelling = AudioGatewayFeatures(rawValue: 1 << 1)
    package static let voiceRecognition = AudioGatewayFeatures(rawValue: 1 << 2)
    package static let inbandRing = AudioGatewayFeatures(rawValue: 1 << 3)
    package static let voiceTag = AudioGatewayFeatures(rawValue: 1 << 4)
    package static let rejectCall = AudioGatewayFeatures(rawValue: 1 << 5)
    package static let enhancedCallStatus = AudioGatewayFeatures(rawValue: 1 << 6)
    package static let enhancedCallControl = AudioGatewayFeatures(rawValue: 1 << 7)
    package static let extendedErrors = AudioGatewayFeatures(rawValue: 1 << 8)
    package static let codecNegotiation = AudioGatewayFeatures(rawValue: 1 << 9)
    package static let hfIndicators = AudioGatewayFeatures(rawValue: 1 << 10)
    package static let settingsS4 = AudioGatewayFeatures(rawValue: 1 << 11)
    package static let enhancedVoiceRecognition = AudioGatewayFeatures(rawValue: 1 << 12)
    package static let voiceRecognitionText = AudioGatewayFeatures(rawValue: 1 << 13)
    /// HFP 1.10.
    package static let callDuration = AudioGatewayFeatures(rawValue: 1 << 14)

    /// HFP 1.9 without features that need a service of their own; call duration only when configured.
    package static let standard: AudioGatewayFeatures = [
        .threeWay, .inbandRing, .rejectCall, .enhancedCallStatus, .enhancedCallControl, .extendedErrors,
        .codecNegotiation, .hfIndicators, .settingsS4,
    ]

    /// Words used by `btcall-lab gateway` and the configuration, in the order of the bits.
    package static let words: [(word: String, feature: AudioGatewayFeatures)] = [
        ("three_way", .threeWay), ("ecnr", .echoCancelling), ("voice_recognition", .voiceRecognition),
        ("inband_ring", .inbandRing), ("voice_tag", .voiceTag), ("reject_call", .rejectCall),
        ("enhanced_call_status", .enhancedCallStatus), ("enhanced_call_control", .enhancedCallControl),
        ("extended_errors", .extendedErrors), ("codec_negotiation", .codecNegotiation),
        ("hf_indicators", .hfIndicators), ("esco_s4", .settingsS4), ("enhanced_vr_status", .enhancedVoiceRecognition),
        ("vr_text", .voiceRecognitionText), ("call_duration", .callDuration),
    ]

    /// Nil for an unknown word.
    package init?(word: String) {
        guard let known = Self.words.first(where: { $0.word == word }) else { return nil }
        self = known.feature
    }
}

/// The headset's features from AT+BRSF; unknown bits are removed.
package struct HandsFreeFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) {
        self.rawValue = rawValue & 0xFFF
    }

    package static let echoCancelling = HandsFreeFeatures(rawValue: 1 << 0)
    package static let threeWay = HandsFreeFeatures(rawValue: 1 << 1)
    package static let callerIdentification = HandsFreeFeatures(rawValue: 1 << 2)
    package static let voiceRecognition = HandsFreeFeatures(rawValue: 1 << 3)
    package static let remoteVolume = HandsFreeFeatures(rawValue: 1 << 4)
    package static let enhancedCallStatus = HandsFreeFeatures(rawValue: 1 << 5)
    package static let enhancedCallControl = HandsFreeFeatures(rawValue: 1 << 6)
    package static let codecNegotiation = HandsFreeFeatures(rawValue: 1 << 7)
    package static let hfIndicators = HandsFreeFeatures(rawValue: 1 << 8)
    package static let settingsS4 = HandsFreeFeatures(rawValue: 1 << 9)
    package static let enhancedVoiceRecognition = HandsFreeFeatures(rawValue: 1 << 10)
    package static let voiceRecognitionText = HandsFreeFeatures(rawValue: 1 << 11)
}

/// Profile version of the service record. It does not affect the dialogue, which depends on feature bits.
package enum ProfileVersion: UInt16, Hashable, Sendable, CaseIterable {
    case hfp15 = 0x0105
    case hfp16 = 0x0106
    case hfp17 = 0x0107
    case hfp18 = 0x0108
    case hfp19 = 0x0109
    case hfp110 = 0x010A

    /// Reads `1.5` … `1.9`, `1.10`; nil for anything else.
    package init?(word: String) {
        guard let version = Self.allCases.first(where: { $0.word == word }) else { return nil }
        self = version
    }

    /// Usual notation: `1.9`.
    package var word: String { "\(rawValue >> 8).\(rawValue & 0xFF)" }
}
