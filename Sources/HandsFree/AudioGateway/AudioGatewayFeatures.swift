/// What we can do, as +BRSF says it (HFP 1.9 §4.34.2). Bits 15 and up stay zero.
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

    /// HFP 1.9 without what needs a service of its own; call duration only when configured.
    package static let standard: AudioGatewayFeatures = [
        .threeWay, .inbandRing, .rejectCall, .enhancedCallStatus, .enhancedCallControl, .extendedErrors,
        .codecNegotiation, .hfIndicators, .settingsS4,
    ]

    /// The words of `btcall gateway` and of the configuration; nil for one that is not known.
    package init?(word: String) {
        switch word {
        case "three_way": self = .threeWay
        case "ecnr": self = .echoCancelling
        case "voice_recognition": self = .voiceRecognition
        case "inband_ring": self = .inbandRing
        case "voice_tag": self = .voiceTag
        case "reject_call": self = .rejectCall
        case "enhanced_call_status": self = .enhancedCallStatus
        case "enhanced_call_control": self = .enhancedCallControl
        case "extended_errors": self = .extendedErrors
        case "codec_negotiation": self = .codecNegotiation
        case "hf_indicators": self = .hfIndicators
        case "esco_s4": self = .settingsS4
        case "enhanced_vr_status": self = .enhancedVoiceRecognition
        case "vr_text": self = .voiceRecognitionText
        case "call_duration": self = .callDuration
        default: return nil
        }
    }
}

/// What the headset can do, as AT+BRSF says it; bits that we do not know are kept out.
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

/// The profile version of the service record.
package enum ProfileVersion: UInt16, Hashable, Sendable {
    case hfp16 = 0x0106
    case hfp17 = 0x0107
    case hfp18 = 0x0108
    case hfp19 = 0x0109
    case hfp110 = 0x010A
}
