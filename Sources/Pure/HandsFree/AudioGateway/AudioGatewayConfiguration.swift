package import BluetoothTypes

/// How the gateway presents itself; one for all headsets, but for the quirks and what was learnt. As it is made here it does
/// what the profile says and nothing else; what a product adds is off.
package struct AudioGatewayConfiguration: Hashable, Sendable {
    /// Which profile the headset is connected by.
    package enum Profile: String, Hashable, Sendable, CaseIterable {
        case handsFree = "HFP_AG"
        /// The Headset Profile, for headsets that have nothing else: RING, the button, volumes; CVSD only.
        case headset = "HSP_AG"
    }

    package var profile = Profile.handsFree
    package var version = ProfileVersion.hfp19
    /// +BRSF has exactly these bits, less those that a quirk masks.
    package var features = AudioGatewayFeatures.standard
    /// In any order; CVSD is always there.
    package var codecs: [VoiceCodec] = [.mSBC, .cvsd]
    /// What +CHLD=? offers. The indexed forms also need the feature enhanced call control.
    package var threeWay: [ThreeWayOption] = [
        .releaseHeldOrRejectWaiting, .releaseActiveAndAcceptOther, .release, .holdActiveAndAcceptOther, .consult,
    ]
    /// What +BIND offers, and whether it is switched on at first.
    package var hfIndicators: [HFIndicator: Bool] = [.enhancedSafety: true, .batteryLevel: true]
    /// Indicator values at the start; those of calls come from the snapshots.
    package var indicators = IndicatorValues()
    /// For +COPS; nil: not registered.
    package var networkOperator: String?
    /// For +CNUM.
    package var subscriberNumbers: [SubscriberNumber] = []
    /// For AT+BLDN; every number that is dialled here replaces it.
    package var lastDialed: String?
    /// For ATD>n;
    package var memory: [Int: String] = [:]
    /// Whether the gateway sends its own ring tone at first; with the feature in-band ring headsets take it for granted, so
    /// that false is announced to each.
    package var inbandRing = true
    package var responseAndHold = false
    /// For AT+BINP; needs the feature voice tag.
    package var voiceTagNumber: String?
    /// Who we are to +XAPL; some headsets talk to phones of one maker only.
    package var appleName = "iPhone"
    /// What we take by AT+IPHONEACCEV: 2 battery, 4 docked or powered.
    package var appleFeatures = 6
    /// Whether headsets are told that they may say how calls are routed to them (AT+ANDROID=SINKAUDIOPOLICY,…).
    package var takesAudioPolicy = true
    package var manufacturer = "btcall"
    package var model = "btcall"
    package var revision = "1"
    package var ringInterval = Duration.seconds(3)
    package var setUpTimeout = Duration.seconds(20)
    /// A request that nobody completes within this time is answered ERROR.
    package var requestTimeout = Duration.seconds(10)
    /// Least time between the service level connection or the answer of a call and the opening of the audio link: with many
    /// headsets one that comes at once fails or pops (docs/inside/Interop.md B4). A quirk may say another.
    package var audioDelay = Duration.zero
    /// How long after the audio link came up the volumes are sent again; nil: never (docs/inside/Interop.md B22).
    package var volumeResend: Duration?
    /// The loudest that the headset's speaker may be, 0…15; one that says more is told so.
    package var speakerCeiling = 15
    package var virtualCall = VirtualCall.never
    /// What the headset's service record says it can do, for one that does not send AT+BRSF (HFP 0.96); empty: nothing.
    package var recordedFeatures: HandsFreeFeatures = []
    /// What was learnt of this headset and adapter in earlier connections.
    package var codecMemory = CodecMemory()
    package var quota = CommandQuotaLimits()
    package var quirks = Quirks()

    package init() {}

    /// What +BRSF says.
    package var effectiveFeatures: AudioGatewayFeatures { features.subtracting(quirks.maskedFeatures) }

    /// The codecs less those that a quirk excludes; without codec negotiation there is CVSD alone.
    package var usableCodecs: [VoiceCodec] {
        guard effectiveFeatures.contains(.codecNegotiation) else { return [.cvsd] }
        return codecs.filter { !quirks.brokenCodecs.contains($0) }
    }

    /// The attribute SupportedFeatures of the service record: bits 0…4 and enhanced voice recognition as in +BRSF, wide
    /// band and super wide band speech from the codecs (HFP 1.9 §5.3). Always agrees with +BRSF.
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

    /// The attribute Network of the service record: 1 when calls can be rejected, as bit 5 of +BRSF says.
    package var sdpNetwork: UInt8 { features.contains(.rejectCall) ? 1 : 0 }
}

/// Whether a headset is shown a call while its audio link is in use without one: many stay muted, or close the link, unless
/// the indicator `call` is on (docs/inside/Interop.md no. 1).
package enum VirtualCall: String, Hashable, Sendable, CaseIterable {
    case never
    /// While `setVirtualCall` says so: somebody speaks who reports no calls.
    case onRequest
    /// Whenever the audio link is wanted or up.
    case withAudio
}

/// The limits of `CommandQuota`.
package struct CommandQuotaLimits: Hashable, Sendable {
    /// Lines at once.
    package var burst = 200
    /// Lines each second in the long run.
    package var perSecond = 50

    package init() {}
}
