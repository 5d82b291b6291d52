package import BluetoothTypes

/// How the gateway presents itself; one for all headsets, but for the quirks.
package struct AudioGatewayConfiguration: Hashable, Sendable {
    package var version = ProfileVersion.hfp19
    /// +BRSF has exactly these bits, less those that a quirk masks.
    package var features = AudioGatewayFeatures.standard
    /// Best first; CVSD is always there.
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
    package var manufacturer = "btcall"
    package var model = "btcall"
    package var revision = "1"
    package var ringInterval = Duration.seconds(3)
    package var setUpTimeout = Duration.seconds(20)
    /// A request that nobody completes within this time is answered ERROR.
    package var requestTimeout = Duration.seconds(10)
    package var quota = CommandQuotaLimits()
    package var quirks = Quirks()

    package init() {}

    /// What +BRSF says.
    package var effectiveFeatures: AudioGatewayFeatures { features.subtracting(quirks.maskedFeatures) }

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
}

/// The limits of `CommandQuota`.
package struct CommandQuotaLimits: Hashable, Sendable {
    /// Lines at once.
    package var burst = 200
    /// Lines each second in the long run.
    package var perSecond = 50

    package init() {}
}
