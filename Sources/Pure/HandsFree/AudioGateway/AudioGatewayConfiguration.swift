package import BluetoothTypes

/// Presentation of the gateway; the same for all headsets except quirks and codec memory. The defaults do what the profile
/// says and nothing else; product additions are off.
package struct AudioGatewayConfiguration: Hashable, Sendable {
    /// Profile by which the headset is connected.
    package enum Profile: String, Hashable, Sendable, CaseIterable {
        case handsFree = "HFP_AG"
        /// The Headset Profile, for headsets without HFP: RING, the button, volumes; CVSD only.
        case headset = "HSP_AG"
    }

    package var profile = Profile.handsFree
    package var version = ProfileVersion.hfp19
    /// Bits of +BRSF; a quirk may mask some.
    package var features = AudioGatewayFeatures.standard
    /// In any order; CVSD is always included.
    package var codecs: [VoiceCodec] = [.mSBC, .cvsd]
    /// Options of +CHLD=?. The indexed forms also need the feature enhanced call control.
    package var threeWay: [ThreeWayOption] = [
        .releaseHeldOrRejectWaiting, .releaseActiveAndAcceptOther, .release, .holdActiveAndAcceptOther, .consult,
    ]
    /// Indicators of +BIND, with their initial state.
    package var hfIndicators: [HFIndicator: Bool] = [.enhancedSafety: true, .batteryLevel: true]
    /// Initial indicator values; those of calls come from the snapshots.
    package var indicators = IndicatorValues()
    /// For +COPS; nil: not registered.
    package var networkOperator: String?
    /// For +CNUM.
    package var subscriberNumbers: [SubscriberNumber] = []
    /// For AT+BLDN; replaced by each dialled number.
    package var lastDialed: String?
    /// For ATD>n;
    package var memory: [Int: String] = [:]
    /// Whether the gateway initially sends its own ring tone. With the feature in-band ring, headsets assume that it does,
    /// so false is announced to each.
    package var inbandRing = true
    package var responseAndHold = false
    /// For AT+BINP; needs the feature voice tag.
    package var voiceTagNumber: String?
    /// Our identity for +XAPL; some headsets accept phones of one maker only.
    package var appleName = "iPhone"
    /// Events accepted by AT+IPHONEACCEV: 2 battery, 4 docked or powered.
    package var appleFeatures = 6
    /// Whether we announce that headsets may send their routing preferences (AT+ANDROID=SINKAUDIOPOLICY,…).
    package var takesAudioPolicy = true
    package var manufacturer = "btcall"
    package var model = "btcall"
    package var revision = "1"
    package var ringInterval = Duration.seconds(3)
    package var setUpTimeout = Duration.seconds(20)
    /// Timeout of a request; then the headset receives ERROR.
    package var requestTimeout = Duration.seconds(10)
    /// Minimum time between the service level connection or the answer of a call and the opening of the audio link: with
    /// many headsets an immediate link fails or pops (docs/inside/Interop.md B4). A quirk may override it.
    package var audioDelay = Duration.zero
    /// Time from the opening of the audio link until the volumes are repeated; nil for never (docs/inside/Interop.md B22).
    package var volumeResend: Duration?
    /// Maximum speaker volume of the headset, 0…15; a headset above it is lowered.
    package var speakerCeiling = 15
    package var virtualCall = VirtualCall.never
    /// Features from the headset's service record, for one that does not send AT+BRSF (HFP 0.96); empty for none.
    package var recordedFeatures: HandsFreeFeatures = []
    /// Knowledge about this headset and adapter from earlier connections.
    package var codecMemory = CodecMemory()
    package var quota = CommandQuotaLimits()
    package var quirks = Quirks()

    package init() {}

    /// Features sent in +BRSF.
    package var effectiveFeatures: AudioGatewayFeatures { features.subtracting(quirks.maskedFeatures) }

    /// The codecs without those that a quirk excludes; only CVSD without codec negotiation.
    package var usableCodecs: [VoiceCodec] {
        guard effectiveFeatures.contains(.codecNegotiation) else { return [.cvsd] }
        return codecs.filter { !quirks.brokenCodecs.contains($0) }
    }

    /// Attribute SupportedFeatures of the service record: bits 0…4 and enhanced voice recognition as in +BRSF, wide band and
    /// super wide band speech from the codecs (HFP 1.9 §5.3). Always agrees with +BRSF.
    package var sdpFeatures: UInt16 {
        var bits = UInt16(features.rawValue & 0x1F)
        if features.contains(.codecNegotiation) {
            if codecs.contains(.mSBC) { bits |= 1 << 5 }
            if codecs.contains(.lc3SWB) { bits |= 1 << 8 }
        }
        if features.contains(.enhancedVoiceRecognition) { bits |= 1 << 6 }
        if features.contains(.voiceRecognitionText) { bits |= 1 << 7 }
        return bits
    }

    /// Attribute Network of the service record: 1 when calls can be rejected, as in bit 5 of +BRSF.
    package var sdpNetwork: UInt8 { features.contains(.rejectCall) ? 1 : 0 }
}

/// When a headset is shown a virtual call while its audio link is in use without a real one: many stay muted, or close the
/// link, unless the indicator `call` is on (docs/inside/Interop.md no. 1).
package enum VirtualCall: String, Hashable, Sendable, CaseIterable {
    case never
    /// While requested by `setVirtualCall`: an application without calls uses the audio.
    case onRequest
    /// Whenever the audio link is requested or open.
    case withAudio
}

/// Limits of `CommandQuota`.
package struct CommandQuotaLimits: Hashable, Sendable {
    /// Lines at once.
    package var burst = 200
    /// Lines per second in the long run.
    package var perSecond = 50

    package init() {}
}
