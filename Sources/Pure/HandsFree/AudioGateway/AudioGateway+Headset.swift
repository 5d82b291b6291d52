import BluetoothTypes
import Telephony

/// The Headset Profile (HSP 1.2 §4): one button, two volumes, RING. The button's function depends on the calls.
extension AudioGateway {
    mutating func respondAsHeadset(to line: [UInt8], at now: Instant) throws(ATSyntaxError) -> Reply {
        let command = try ATCommand(line: Self.withPrefix(line))
        guard let name = CommandName(rawValue: command.name) else { return .refuse(.notSupported) }
        switch name {
        case .none: return .done
        case .keyPress:
            try checkKey(command)
            return pressButton(at: now)
        case .speakerVolume: return try respondAboutVolume(.speaker, command, at: now)
        case .microphoneVolume: return try respondAboutVolume(.microphone, command, at: now)
        case .appleAccessory, .appleEvent, .appleVoiceAssistant, .appleEyesFree, .plantronicsEvent, .android,
            .csrFeatures, .csrIndicators, .csrNegotiation, .csrBattery, .csrPower:
            return try respondToVendor(name, command)
        case .answer, .dial, .features, .availableCodecs, .codecConnection, .codecSelection, .indicators, .reporting,
            .activation, .threeWay, .hfIndicators, .hfIndicatorValue, .callerIdentification, .callWaiting,
            .extendedErrors, .hangUp, .redial, .currentCalls, .callDurations, .subscriberNumber, .networkOperator,
            .responseAndHold, .tone, .noiseReduction, .voiceRecognition, .voiceTag, .manufacturer, .manufacturerShort,
            .model, .modelShort, .revision, .revisionShort:
            return .refuse(.notSupported)
        }
    }

    /// Some headsets send `+VGS=9` without `AT`.
    private static func withPrefix(_ line: [UInt8]) -> [UInt8] {
        line.first == UInt8(ascii: "+") ? Array("AT".utf8) + line : line
    }

    /// Answers a ringing call, otherwise ends the dialled or active one, otherwise resumes the held one; a call whose audio
    /// is not on the headset is fetched first.
    private mutating func pressButton(at now: Instant) -> Reply {
        tell(.button(.callKey))
        if let call = calls.ringing { return .ask(.answer(call.id)) }
        let outgoing = calls.first(.alerting) ?? calls.first(.dialing) ?? calls.first(.setup)
        if let call = outgoing { return .ask(.hangUp(call.id)) }
        if let call = calls.first(.active) {
            guard audio.state == .idle else { return .ask(.hangUp(call.id)) }
            tell(.audioRequested)
            afterReply = audio.start(hint: nil, at: now)
            return .done
        }
        if let call = calls.waiting { return .ask(.answer(call.id)) }
        if let call = calls.first(.held) { return .ask(.setHeld(call.id, false)) }
        return .done
    }
}
