package import BluetoothTypes
package import Telephony

/// Calls towards the headset: indicators, RING, +CLIP, +CCWA; and what the headset wants done with them.
extension AudioGateway {
    /// The calls as they are now. Lines go out in one order for every transition: +CCWA, call, callsetup, callheld, then
    /// RING and +CLIP or NO CARRIER.
    package mutating func callsChanged(_ snapshot: CallSnapshot, at now: Instant) -> [Action] {
        let before = calls
        let old = before.indicators
        let new = snapshot.indicators
        calls = snapshot
        take(new)
        if let waiting = snapshot.waiting, before.waiting?.id != waiting.id, wantsCallWaiting {
            sendUnsolicited(.callWaiting(number: waiting.details.number, name: waiting.details.name))
        }
        if new.call != old.call { report(.call) }
        if new.callSetup != old.callSetup { report(.callSetup) }
        if new.callHeld != old.callHeld {
            report(.callHeld)
        } else if new.callHeld == 1, snapshot.swapped(since: before) {
            // The value is the same, what it stands for is not (HFP 1.9 §4.22.2).
            sent[.callHeld] = nil
            report(.callHeld)
        }
        if old.call == 1, new.call == 0 {
            isHeldByResponse = false
            if values[.service] == 0 { sendUnsolicited(.noCarrier) }
        }
        if snapshot.ringing?.id != before.ringing?.id { startRinging(at: now) }
        return finish()
    }

    /// Whether our own ring tone is sent over the audio connection while ringing (+BSIR).
    package mutating func setInbandRing(_ isOn: Bool) -> [Action] {
        inbandRing = isOn
        announceInbandRing()
        return finish()
    }

    /// The number that AT+BLDN dials; nil when there is none.
    package mutating func setLastDialed(_ number: String?) {
        lastDialed = number
    }

    mutating func announceInbandRing() {
        guard isOpen, connection.isEstablished, features.contains(.inbandRing), announcedInbandRing != inbandRing else {
            return
        }
        announcedInbandRing = inbandRing
        sendUnsolicited(.inbandRing(inbandRing))
    }

    mutating func startRinging(at now: Instant) {
        guard connection.isEstablished, calls.ringing != nil else {
            ringAt = nil
            return
        }
        ringAt = now
        ringIfDue(at: now)
    }

    /// RING now if it is time and no reply is due; again after the interval.
    mutating func ringIfDue(at now: Instant) {
        guard let due = ringAt, due <= now, awaiting == nil, isOpen, let call = calls.ringing else { return }
        ringAt = now.advanced(by: configuration.ringInterval)
        sendUnsolicited(.ring)
        if wantsCallerIdentification, call.details.number != nil || call.details.name != nil {
            sendUnsolicited(.callerIdentification(number: call.details.number, name: call.details.name))
        }
    }

    // MARK: Commands

    mutating func respondAboutCalls(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        switch (name, command.form) {
        case (.answer, .action):
            guard command.parameters.isAtEnd else { throw .excess }
            guard let call = calls.ringing ?? calls.waiting else { return .refuse(.notAllowed) }
            return .ask(.answer(call.id))
        case (.hangUp, .action): return hangUp()
        case (.dial, .action): return dial(command.parameters.rest)
        case (.redial, .action):
            guard let lastDialed else { return .refuse(.notFound) }
            return .ask(.dial(number: lastDialed))
        case (.threeWay, .test):
            connection.heard(.threeWayList)
            send(.threeWayList(threeWayOptions))
            return .done
        case (.threeWay, .set): return try threeWay(command.parameters)
        case (.responseAndHold, _): return try respondToResponseAndHold(command)
        case (.tone, .set): return try tone(command.parameters)
        default: return .refuse(.notSupported)
        }
    }

    /// What follows the OK of a request.
    mutating func requestDone(_ request: CallRequest, at now: Instant) {
        switch request {
        case .dial(let number, _): lastDialed = number
        case .responseAndHold(let value):
            isHeldByResponse = value == .hold
            deferred.insert(.responseAndHold(value.rawValue), at: 0)
        case .answer, .reject, .hangUp:
            // The snapshot without the ringing call may come after this outcome: no RING in between.
            if ringAt != nil { ringAt = now.advanced(by: configuration.ringInterval) }
        case .setHeld, .threeWay, .sendDTMF: break
        }
    }

    /// The outgoing call that is not answered yet, else the active one, else what rings, else a held one: with an active
    /// and a waiting call only the active one ends (TCA 05).
    private func hangUp() -> Reply {
        let outgoing = calls.first(.alerting) ?? calls.first(.dialing) ?? calls.first(.setup)
        if let call = outgoing ?? calls.first(.active) { return .ask(.hangUp(call.id)) }
        if let call = calls.ringing ?? calls.waiting {
            return features.contains(.rejectCall) ? .ask(.reject(call.id)) : .refuse(.notAllowed)
        }
        if let call = calls.first(.held) { return .ask(.hangUp(call.id)) }
        return .refuse(.notAllowed)
    }

    /// ATDnumber; and ATD>location;
    private func dial(_ text: [UInt8]) -> Reply {
        guard text.last == UInt8(ascii: ";") else { return .refuse(.notSupported) }
        let number = text.dropLast()
        if number.first == UInt8(ascii: ">") {
            guard number.count <= 10, let location = Int(String(decoding: number.dropFirst(), as: UTF8.self)),
                let stored = configuration.memory[location]
            else { return .refuse(.invalidIndex) }
            return .ask(.dial(number: stored))
        }
        guard !number.isEmpty, number.allSatisfy(ATText.isDialByte) else { return .refuse(.invalidDialString) }
        guard number.count <= 80 else { return .refuse(.dialStringTooLong) }
        return .ask(.dial(number: String(decoding: number, as: UTF8.self)))
    }

    /// What +CHLD=? lists. A headset that asks although we have no three-way calling gets what ends calls, because an
    /// ERROR here makes some give up (INTEROP.md A9).
    private var threeWayOptions: [ThreeWayOption] {
        guard features.contains(.threeWay) else { return [.releaseHeldOrRejectWaiting, .releaseActiveAndAcceptOther] }
        return configuration.threeWay.filter { option in
            features.contains(.enhancedCallControl) || (option != .release && option != .consult)
        }
    }

    private func threeWay(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        guard let action = ThreeWayAction(text: parameters.text() ?? "") else { throw .malformed }
        try parameters.end()
        guard threeWayOptions.contains(ThreeWayOption(action)) else { return .refuse(.notSupported) }
        return hasCalls(for: action) ? .ask(.threeWay(action)) : .refuse(.notAllowed)
    }

    private func hasCalls(for action: ThreeWayAction) -> Bool {
        let isRinging = calls.ringing != nil || calls.waiting != nil
        let isActive = calls.first(.active) != nil
        let isHeld = calls.first(.held) != nil
        switch action {
        case .releaseHeldOrRejectWaiting: return isRinging || isHeld
        case .releaseActiveAndAcceptOther, .holdActiveAndAcceptOther: return isRinging || isHeld || isActive
        case .release(let index), .consult(let index):
            return calls.calls.contains { $0.index == index && ($0.state == .active || $0.state == .held) }
        case .join: return isActive && isHeld
        case .transfer: return isHeld && (isActive || calls.first(.alerting) != nil)
        }
    }

    private mutating func respondToResponseAndHold(_ command: ATCommand) throws(ATSyntaxError) -> Reply {
        if command.form == .read {
            if isHeldByResponse { send(.responseAndHold(ResponseAndHold.hold.rawValue)) }
            return .done
        }
        guard command.form == .set, configuration.responseAndHold else { return .refuse(.notSupported) }
        var parameters = command.parameters
        guard let value = ResponseAndHold(rawValue: try parameters.number()) else { throw .malformed }
        try parameters.end()
        guard value == .hold ? calls.ringing != nil : isHeldByResponse else { return .refuse(.notAllowed) }
        return .ask(.responseAndHold(value))
    }

    /// AT+VTS=tone, with or without quotes and a length, which is the provider's business.
    private func tone(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        guard let text = parameters.text(), let byte = text.utf8.first, text.utf8.count == 1 else { throw .malformed }
        _ = try parameters.optionalNumber()
        try parameters.end()
        switch ATCommand.upper(byte) {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "D"), UInt8(ascii: "*"),
            UInt8(ascii: "#"):
            guard calls.indicators.call == 1 || calls.indicators.callSetup >= 2 else { return .refuse(.notAllowed) }
            return .ask(.sendDTMF(Character(Unicode.Scalar(ATCommand.upper(byte)))))
        default:
            throw .malformed
        }
    }
}
