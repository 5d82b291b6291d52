import BluetoothTypes
import HandsFree

/// The gateway as seen by a headset that follows the profile: knows only what it sent and received. Detects lines that must
/// not come, or not now (docs/inside/Gateway.md).
struct HeadsetView {
    let configuration: AudioGatewayConfiguration
    /// Whether the event came, after its reply.
    private(set) var isEstablished = false
    /// Lines that must get a final result code and have none yet.
    private(set) var unanswered: ArraySlice<ATReader.Input> = []
    /// Whether lines of the answer to the first of them have come.
    private var isAnswering = false
    /// Whether a request is in progress.
    var isWaiting = false
    private(set) var known: [Indicator: Int] = [:]
    private(set) var isReporting = false
    private(set) var deactivated: Set<Indicator> = []
    private(set) var features: HandsFreeFeatures
    /// The codec agreed by AT+BCS and its OK.
    private(set) var agreed: VoiceCodec?
    private(set) var offered: [VoiceCodec]?
    /// All lines, including those without an answer.
    private(set) var linesSaid = 0
    /// Whether the headset has sent its ring tone policy.
    private(set) var hasRingPolicy = false
    private var reader = ATReader()
    private var commands: CommandLines
    private var wantsCallerIdentification = false
    private var wantsCallWaiting = false
    private var wantsExtendedErrors = false
    private var inbandRing: Bool
    private var hasRung = false

    private var isHeadsetProfile: Bool { configuration.profile == .headset }
    private var gateway: AudioGatewayFeatures { configuration.effectiveFeatures }

    init(_ configuration: AudioGatewayConfiguration) {
        self.configuration = configuration
        features = configuration.recordedFeatures
        commands = CommandLines(isHeadsetProfile: configuration.profile == .headset)
        inbandRing = configuration.effectiveFeatures.contains(.inbandRing)
    }

    /// Whether a change of the indicator must be reported.
    func isReported(_ indicator: Indicator) -> Bool {
        isEstablished && isReporting && (indicator.isMandatory || !deactivated.contains(indicator))
    }

    mutating func say(_ bytes: [UInt8]) {
        for input in reader.read(bytes) {
            linesSaid += 1
            if case .line(let line) = input,
                String(decoding: line, as: UTF8.self).uppercased().contains("SINKAUDIOPOLICY")
            {
                hasRingPolicy = true
            }
            if commands.isAnswered(input) { unanswered.append(input) }
        }
    }

    mutating func establish() throws(BrokenRule) {
        try require(!isEstablished, "established twice")
        isEstablished = true
    }

    /// After every step: every line that could be answered has been.
    func rest() throws(BrokenRule) {
        try require(!isAnswering, "an answer has an end")
        guard isWaiting else {
            try require(unanswered.isEmpty, "\(unanswered.count) lines have no answer")
            return
        }
        try require(
            (1...AudioGateway.queueLimit + 1).contains(unanswered.count),
            "\(unanswered.count) lines wait for one request")
    }

    // MARK: Received lines

    mutating func hear(_ code: ATResultCode) throws(BrokenRule) {
        try LineRules.check(code)
        let rang = hasRung
        hasRung = code == .ring
        switch code {
        case .ok, .error, .cmeError: try finish(code)
        case .features, .indicatorList, .threeWayList, .currentCall, .callDuration, .subscriberNumber, .networkOperator,
            .voiceTag, .hfIndicatorList, .appleAccessory, .appleVoiceAssistant, .csrFeatures, .csrCodec,
            .androidFeatures, .information:
            try answer(code)
        case .indicatorValues(let values):
            try answer(code)
            for indicator in Indicator.allCases { known[indicator] = values[indicator] }
        // The same line as an answer and unsolicited.
        case .hfIndicator where mayAnswer("+BIND"), .responseAndHold where mayAnswer("+BTRH"): break
        case .indicator, .ring, .noCarrier, .callerIdentification, .callWaiting, .speakerVolume, .microphoneVolume,
            .headsetSpeakerVolume, .headsetMicrophoneVolume, .codec, .inbandRing, .voiceRecognition, .hfIndicator,
            .responseAndHold:
            try hearUnsolicited(code, afterRing: rang)
        }
    }

    private mutating func answer(_ code: ATResultCode) throws(BrokenRule) {
        try require(!unanswered.isEmpty, "nothing was asked: \(code)")
        isAnswering = true
    }

    /// Whether the line to be answered reads these values.
    private func mayAnswer(_ name: String) -> Bool {
        guard case .line(let line)? = unanswered.first, let command = try? ATCommand(line: line) else { return false }
        return command.name == name && command.form == .read && !isWaiting
    }

    private mutating func finish(_ code: ATResultCode) throws(BrokenRule) {
        guard let input = unanswered.popFirst() else { throw BrokenRule("nothing was asked: \(code)") }
        isAnswering = false
        isWaiting = false
        if case .cmeError = code { try require(wantsExtendedErrors, "not switched on: \(code)") }
        if code == .error { try require(!wantsExtendedErrors, "+CME ERROR is switched on") }
        guard code == .ok, !isHeadsetProfile, case .line(let line) = input,
            let command = try? ATCommand(line: line), command.form == .set
        else { return }
        do throws(ATSyntaxError) { try handle(command) } catch { throw BrokenRule("OK for \(command)") }
    }

    /// Updates the view with a command from the headset.
    private mutating func handle(_ command: ATCommand) throws(ATSyntaxError) {
        var parameters = command.parameters
        switch command.name {
        case "+BRSF": features = HandsFreeFeatures(rawValue: try parameters.mask())
        case "+CMER":
            let mode = try parameters.number()
            _ = try parameters.optionalNumber()
            _ = try parameters.optionalNumber()
            let value = try parameters.optionalNumber() ?? 0
            isReporting = mode == 3 && value == 1
        case "+BIA":
            for indicator in Indicator.allCases {
                guard let value = try parameters.optionalNumber() else { continue }
                if value == 1 { deactivated.remove(indicator) } else { deactivated.insert(indicator) }
            }
        case "+CLIP": wantsCallerIdentification = try parameters.number() == 1
        case "+CCWA": wantsCallWaiting = try parameters.number() == 1
        case "+CMEE": wantsExtendedErrors = try parameters.number() == 1
        case "+BAC":
            let codecs = try parameters.numbers(limit: 32).compactMap { UInt8(exactly: $0).flatMap(VoiceCodec.init) }
            if codecs != offered { agreed = nil }
            offered = codecs
        case "+BCS": agreed = UInt8(exactly: try parameters.number()).flatMap(VoiceCodec.init)
        default: break
        }
    }

    private mutating func hearUnsolicited(_ code: ATResultCode, afterRing: Bool) throws(BrokenRule) {
        try require(isEstablished, "nothing unsolicited before the service level connection: \(code)")
        try require(!isWaiting && !isAnswering, "a reply goes first: \(code)")
        switch code {
        case .indicator(let indicator, let value):
            try require(isReported(indicator), "not wanted: \(code)")
            // The one value that is news when unchanged: active and held have swapped.
            try require(known[indicator] != value || code == .indicator(.callHeld, 1), "known already: \(code)")
            known[indicator] = value
        case .callerIdentification:
            try require(wantsCallerIdentification && afterRing, "+CLIP is wanted, and follows RING: \(code)")
        case .callWaiting: try require(wantsCallWaiting, "not wanted: \(code)")
        case .speakerVolume, .microphoneVolume:
            try require(features.contains(.remoteVolume), "the headset has no remote volume: \(code)")
            try require(
                !configuration.quirks.noMicrophoneVolume || code.text.hasPrefix("+VGS"), "a quirk forbids \(code)")
        case .codec(let codec):
            try require(
                features.contains(.codecNegotiation) && gateway.contains(.codecNegotiation), "no negotiation: \(code)")
            try require(codec == .cvsd || offered?.contains(codec) == true, "the headset has no \(codec)")
            agreed = nil
        case .inbandRing(let isOn):
            try require(gateway.contains(.inbandRing) && inbandRing != isOn, "known already: \(code)")
            inbandRing = isOn
        case .voiceRecognition:
            try require(
                features.contains(.voiceRecognition) && gateway.contains(.voiceRecognition), "no feature: \(code)")
        case .hfIndicator:
            try require(features.contains(.hfIndicators) && gateway.contains(.hfIndicators), "no feature: \(code)")
        case .responseAndHold: try require(configuration.responseAndHold, "not configured: \(code)")
        case .headsetSpeakerVolume, .headsetMicrophoneVolume:
            try require(isHeadsetProfile, "of the Headset Profile: \(code)")
        default: break
        }
        if isHeadsetProfile {
            let isOfProfile = code == .ring || code.text.hasPrefix("+VGS=") || code.text.hasPrefix("+VGM=")
            try require(isOfProfile, "not of the Headset Profile: \(code)")
        }
    }
}
