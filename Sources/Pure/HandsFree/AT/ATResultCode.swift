package import BluetoothTypes
package import Telephony

/// One line to the headset (HFP 1.9 §4.34, 3GPP TS 27.007). The only place that sanitises external text: `text` never
/// contains CR or LF, and a quote only around a string.
package enum ATResultCode: Hashable, Sendable {
    case ok, error, ring, noCarrier
    case cmeError(CMEError)
    case features(AudioGatewayFeatures)
    case indicatorList
    case indicatorValues(IndicatorValues)
    case indicator(Indicator, Int)
    case threeWayList([ThreeWayOption])
    case callerIdentification(number: String?, type: Int? = nil, name: String?)
    case callWaiting(number: String?, type: Int? = nil, name: String?)
    /// - Parameter isHeldByResponse: kept waiting by response and hold, which +CIEV does not report as held.
    case currentCall(Call, isHeldByResponse: Bool = false)
    /// HFP 1.10 §4.37: whole seconds since the call was answered.
    case callDuration(index: Int, seconds: Int64)
    case subscriberNumber(SubscriberNumber)
    case networkOperator(String?)
    case speakerVolume(Int)
    case microphoneVolume(Int)
    /// The same in the Headset Profile, which uses `=` (HSP 1.2 §4.8).
    case headsetSpeakerVolume(Int)
    case headsetMicrophoneVolume(Int)
    case codec(VoiceCodec)
    case inbandRing(Bool)
    /// - Parameter state: state of the recognition, when both sides support enhanced voice recognition.
    case voiceRecognition(Bool, state: Int? = nil)
    case voiceTag(String)
    case hfIndicatorList([HFIndicator])
    case hfIndicator(HFIndicator, isEnabled: Bool)
    case responseAndHold(Int)
    case appleAccessory(name: String, features: Int)
    case appleVoiceAssistant(Int)
    case csrFeatures([Int])
    case csrCodec([CSRIndicator])
    case androidFeatures
    case information(String)

    /// The line without its frame.
    package var text: String {
        switch self {
        case .ok: "OK"
        case .error: "ERROR"
        case .ring: "RING"
        case .noCarrier: "NO CARRIER"
        case .cmeError(let error): "+CME ERROR: \(error.code)"
        case .features(let features): "+BRSF: \(features.rawValue)"
        case .indicatorList:
            "+CIND: " + Indicator.allCases.map { "(\"\($0.name)\",\($0.rangeText))" }.joined(separator: ",")
        case .indicatorValues(let values):
            "+CIND: " + Indicator.allCases.map { "\(values[$0])" }.joined(separator: ",")
        case .indicator(let indicator, let value): "+CIEV: \(indicator.rawValue),\(value)"
        case .threeWayList(let options): "+CHLD: (" + options.map(\.rawValue).joined(separator: ",") + ")"
        case .callerIdentification(let number, let type, let name):
            "+CLIP: " + Self.party(number, type) + (Self.quotedName(name).map { ",,,\($0)" } ?? "")
        case .callWaiting(let number, let type, let name):
            "+CCWA: " + Self.party(number, type) + (Self.quotedName(name).map { ",1,\($0)" } ?? "")
        case .currentCall(let call, let isHeldByResponse): Self.currentCall(call, isHeldByResponse)
        case .callDuration(let index, let seconds): "+BCDI: \(index),\(max(seconds, 0))"
        case .subscriberNumber(let own): own.text
        case .networkOperator(let name):
            name.map { "+COPS: 0,0,\"\(ATText.name($0, limit: 16))\"" } ?? "+COPS: 0"
        case .speakerVolume(let value): "+VGS: \(value)"
        case .microphoneVolume(let value): "+VGM: \(value)"
        case .headsetSpeakerVolume(let value): "+VGS=\(value)"
        case .headsetMicrophoneVolume(let value): "+VGM=\(value)"
        case .codec(let codec): "+BCS: \(codec.rawValue)"
        case .inbandRing(let isOn): "+BSIR: \(isOn ? 1 : 0)"
        case .voiceRecognition(let isOn, let state): "+BVRA: \(isOn ? 1 : 0)" + (state.map { ",\($0)" } ?? "")
        case .voiceTag(let number): "+BINP: \"\(ATText.number(number))\""
        case .hfIndicatorList(let list): "+BIND: (" + list.map { "\($0.rawValue)" }.joined(separator: ",") + ")"
        case .hfIndicator(let indicator, let isEnabled): "+BIND: \(indicator.rawValue),\(isEnabled ? 1 : 0)"
        case .responseAndHold(let value): "+BTRH: \(value)"
        case .appleAccessory(let name, let features): "+XAPL=\(ATText.word(name)),\(features)"
        case .appleVoiceAssistant(let state): "+APLSIRI: \(state)"
        case .csrFeatures(let list): "+CSRSF: " + list.map { "\($0)" }.joined(separator: ",")
        case .csrCodec(let list): "+CSRFN: " + list.map { "(\($0.index),\($0.value))" }.joined(separator: ",")
        case .androidFeatures: "+ANDROID: (\(AudioGateway.SinkAudioPolicy.word))"
        case .information(let text): ATText.name(text)
        }
    }

    /// Whether the Headset Profile has it as an unsolicited line (HSP 1.2 §4).
    var isOfHeadsetProfile: Bool {
        switch self {
        case .ring, .headsetSpeakerVolume, .headsetMicrophoneVolume: true
        default: false
        }
    }

    /// The line as sent: CR LF, text, CR LF (HFP 1.9 §4.34.1).
    package var bytes: [UInt8] {
        [0x0D, 0x0A] + Array(text.utf8) + [0x0D, 0x0A]
    }

    /// Formats `"number",type`; a withheld number is empty, with the type for unknown ones.
    private static func party(_ number: String?, _ type: Int?) -> String {
        let address = ATText.address(number ?? "", type: type)
        return "\"\(address.number)\",\(address.number.isEmpty ? 128 : address.type)"
    }

    private static func quotedName(_ name: String?) -> String? {
        guard let name = name.map({ ATText.name($0) }), !name.isEmpty else { return nil }
        return "\"\(name)\""
    }

    private static func currentCall(_ call: Call, _ isHeldByResponse: Bool) -> String {
        let status =
            switch call.state {
            case .active: 0
            case .held: isHeldByResponse ? 6 : 1
            case .setup, .dialing: 2
            case .alerting: 3
            case .incoming: 4
            case .waiting, .ended: 5
            }
        let direction = call.direction == .incoming ? 1 : 0
        let line = "+CLCC: \(call.index),\(direction),\(status),0,\(call.isConference ? 1 : 0)"
        let address = ATText.address(call.details.number ?? "", type: call.details.numberType)
        return address.number.isEmpty ? line : line + ",\"\(address.number)\",\(address.type)"
    }
}

extension ATResultCode: CustomStringConvertible {
    package var description: String { text }
}

/// One option of +CHLD=?.
package enum ThreeWayOption: String, Hashable, Sendable, CaseIterable {
    case releaseHeldOrRejectWaiting = "0"
    case releaseActiveAndAcceptOther = "1"
    case release = "1x"
    case holdActiveAndAcceptOther = "2"
    case consult = "2x"
    case join = "3"
    case transfer = "4"

    /// Returns the option that offers `action`.
    package init(_ action: ThreeWayAction) {
        switch action {
        case .releaseHeldOrRejectWaiting: self = .releaseHeldOrRejectWaiting
        case .releaseActiveAndAcceptOther: self = .releaseActiveAndAcceptOther
        case .release: self = .release
        case .holdActiveAndAcceptOther: self = .holdActiveAndAcceptOther
        case .consult: self = .consult
        case .join: self = .join
        case .transfer: self = .transfer
        }
    }
}

/// One of our own numbers for +CNUM.
package struct SubscriberNumber: Hashable, Sendable {
    package var number: String
    /// nil: derived from the number.
    package var type: Int?
    /// 4 voice, 5 fax.
    package var service: Int

    package init(number: String, type: Int? = nil, service: Int = 4) {
        self.number = number
        self.type = type
        self.service = service
    }

    fileprivate var text: String {
        let address = ATText.address(number, type: type)
        return "+CNUM: ,\"\(address.number)\",\(address.type),,\(service)"
    }
}
