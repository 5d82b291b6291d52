package import BluetoothTypes
package import Telephony

/// Calls towards the headset: indicators, RING, +CLIP, +CCWA; and the headset's requests about calls.
extension AudioGateway {
    /// Updates the calls. Lines go out in one order for every transition: +CCWA, +BTRH, call, callsetup, callheld, then RING
    /// and +CLIP or NO CARRIER.
    ///
    /// - Parameter isSwapped: an active and a held call changed places, though `snapshot` may not show it.
    package mutating func callsChanged(
        _ snapshot: CallSnapshot, isSwapped: Bool = false, at now: Instant
    ) -> [Action] {
        let before = calls
        let old = shownIndicators
        calls = snapshot
        noteStarts(at: now)
        yieldVirtualCall()
        if let waiting = snapshot.waiting, before.waiting?.id != waiting.id, wantsCallWaiting {
            let details = waiting.details
            sendUnsolicited(.callWaiting(number: details.number, type: details.numberType, name: details.name))
        }
        followResponseAndHold(before)
        let new = shownIndicators
        update(new)
        if new.call != old.call { report(.call) }
        if new.callSetup != old.callSetup { report(.callSetup) }
        if new.callHeld != old.callHeld {
            report(.callHeld)
        } else if new.callHeld == 1, isSwapped || snapshot.swapped(since: before) {
            // The value is unchanged, but it refers to another call (HFP 1.9 §4.22.2).
            sent[.callHeld] = nil
            report(.callHeld)
        }
        followLoss(before, at: now)
        planReminder(old, at: now)
        if isAnswered(before) || isDialled(before) { delayAudio(at: now) }
        if snapshot.ringing?.id != before.ringing?.id { startRinging(at: now) }
        return finish()
    }

    private func isAnswered(_ before: CallSnapshot) -> Bool {
        before.calls.contains { $0.state.isRinging && calls[$0.id]?.state == .active }
    }

    private func isDialled(_ before: CallSnapshot) -> Bool {
        calls.calls.contains { $0.state == .dialing && before[$0.id]?.state != .dialing }
    }

    // MARK: Reminder of a waiting call

    /// Time from the end of the active call to the reminder, for headsets that forget a waiting call.
    package static let reminderTime = Duration.milliseconds(200)

    private mutating func planReminder(_ old: CallIndicators, at now: Instant) {
        let new = shownIndicators
        if new.call == 1 || new.callSetup != 1 { reminderAt = nil }
        guard configuration.quirks.forgetsWaitingCall, old.call == 1, old.callSetup == 1, new.call == 0,
            new.callSetup == 1
        else { return }
        reminderAt = now.advanced(by: Self.reminderTime)
    }

    /// Repeats +CIEV for the call that is still incoming, with the same value.
    mutating func remindIfDue(at now: Instant) {
        guard let due = reminderAt, due <= now else { return }
        reminderAt = nil
        sent[.callSetup] = nil
        report(.callSetup)
    }

    // MARK: Loss of the network

    /// The end of the call and the loss of the network may be reported in either order within this time.
    private static let lossWindow = Duration.seconds(1)

    /// Sends NO CARRIER when a call ends together with the network; a call that began without network ends normally.
    private mutating func followLoss(_ before: CallSnapshot, at now: Instant) {
        if calls.indicators.call == 1 {
            callLostAt = nil
        } else if before.indicators.call == 1 {
            if hasLostNetwork { sendUnsolicited(.noCarrier) }
            callLostAt = hasLostNetwork ? nil : now
            hasLostNetwork = false
        }
    }

    /// Handles a change of the indicator `service`.
    mutating func followNetwork(at now: Instant?) {
        hasLostNetwork = values[.service] == 0 && calls.indicators.call == 1
        guard values[.service] == 0, let now, let lost = callLostAt, now <= lost.advanced(by: Self.lossWindow) else {
            return
        }
        callLostAt = nil
        sendUnsolicited(.noCarrier)
    }

    // MARK: Shown state

    /// Indicators as shown to the headset; a call kept waiting by response and hold counts as answered.
    var shownIndicators: CallIndicators {
        CallIndicators(
            shownCalls.map { call in
                guard call.id == responseAndHold.call, call.state == .held else { return call }
                var call = call
                call.state = .active
                return call
            })
    }

    mutating func noteStarts(at now: Instant) {
        let answered = calls.calls.filter { $0.state == .active || $0.state == .held }
        startedAt = startedAt.filter { start in calls[start.key] != nil }
        for call in answered where startedAt[call.id] == nil { startedAt[call.id] = now }
    }

    /// Sets whether our own ring tone is sent over the audio connection while ringing (+BSIR).
    package mutating func setInbandRing(_ isOn: Bool) -> [Action] {
        inbandRing = isOn
        announceInbandRing()
        return finish()
    }

    /// Sets the number that AT+BLDN dials; nil for none.
    package mutating func setLastDialed(_ number: String?) {
        lastDialed = number
    }

    mutating func announceInbandRing() {
        let isOn = inbandRing && allowsInbandRing
        guard isOpen, connection.isEstablished, features.contains(.inbandRing), announcedInbandRing != isOn else {
            return
        }
        announcedInbandRing = isOn
        sendUnsolicited(.inbandRing(isOn))
    }

    mutating func startRinging(at now: Instant) {
        guard connection.isEstablished, calls.ringing != nil else {
            ringAt = nil
            return
        }
        ringAt = now
        ringIfDue(at: now)
    }

    /// Sends RING if it is due and no reply is due, and schedules the next one.
    mutating func ringIfDue(at now: Instant) {
        guard let due = ringAt, due <= now, !isReplyDue, isOpen, let call = calls.ringing else { return }
        ringAt = now.advanced(by: configuration.ringInterval)
        guard !isRingToneHeard else { return }
        sendUnsolicited(.ring)
        let details = call.details
        if wantsCallerIdentification, details.number != nil || details.name != nil {
            sendUnsolicited(.callerIdentification(number: details.number, type: details.numberType, name: details.name))
        }
    }

    /// Whether the ring tone is audible in the link. A headset of the Headset Profile would play its own tone over it on
    /// RING, because the profile has no +BSIR to announce the ring tone.
    private var isRingToneHeard: Bool {
        guard isHeadsetProfile, inbandRing, allowsInbandRing else { return false }
        return if case .connected = audio.state { true } else { false }
    }

    // MARK: Commands

    mutating func respondAboutCalls(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        guard connection.isEstablished || isForSetUp(name, command) else { return .refuse(.notAllowed) }
        switch (name, command.form) {
        case (.answer, .action):
            guard command.parameters.isAtEnd else { throw .excess }
            guard let call = calls.ringing ?? calls.waiting else { return .refuse(.notAllowed) }
            return .ask(.answer(call.id))
        case (.hangUp, .action):
            guard command.parameters.isAtEnd else { throw .excess }
            return hangUp()
        case (.dial, .action): return dial(command.parameters.rest)
        case (.redial, .action):
            guard command.parameters.isAtEnd else { throw .excess }
            guard let lastDialed else { return .refuse(.notFound) }
            return dial(number: lastDialed)
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

    /// Whether the command is allowed before the service level connection: a headset may query calls, but not act on them.
    /// Response and hold is exempt: a headset that reconnects to a call on hold sends AT+BTRH? and acts on the answer.
    private func isForSetUp(_ name: CommandName, _ command: ATCommand) -> Bool {
        name == .responseAndHold || command.form == .test || command.form == .read
    }

    /// Handles the completion of a request after its OK.
    mutating func requestDone(_ request: CallRequest, at now: Instant) {
        switch request {
        case .dial(let number, _): lastDialed = number
        case .responseAndHold(let value): responseAndHoldDone(value)
        case .answer, .reject, .hangUp, .giveUp:
            if case .hangUp(let id) = request { hungUp(id) }
            // The snapshot without the ringing call may arrive after this outcome: no RING in between.
            if ringAt != nil { ringAt = now.advanced(by: configuration.ringInterval) }
        case .setHeld, .threeWay, .sendDTMF, .end: break
        }
    }

    /// Hangs up the outgoing call that is not answered yet, otherwise the active one, otherwise the ringing one: with an
    /// active and a waiting call only the active one ends (TCA 05). A held call stays, except one kept waiting by response
    /// and hold (HFP 1.9 §4.34.2, AT+CHUP).
    private mutating func hangUp() -> Reply {
        if virtualCall.isShown {
            virtualCall.isDismissed = true
            tell(.button(.hangUp))
            return .done
        }
        let outgoing = calls.first(.alerting) ?? calls.first(.dialing) ?? calls.first(.setup)
        if let call = outgoing ?? calls.first(.active) { return .ask(.hangUp(call.id)) }
        if let id = responseAndHold.call { return .ask(.hangUp(id)) }
        if let call = calls.ringing ?? calls.waiting {
            return features.contains(.rejectCall) ? .ask(.reject(call.id)) : .refuse(.notAllowed)
        }
        return .refuse(.notAllowed)
    }

    /// Handles ATDnumber; and ATD>location;
    private func dial(_ text: [UInt8]) -> Reply {
        guard text.last == UInt8(ascii: ";") else { return .refuse(.notSupported) }
        let number = text.dropLast()
        if number.first == UInt8(ascii: ">") {
            let digits = number.dropFirst()
            guard digits.count <= 9, digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
                let location = Int(String(decoding: digits, as: UTF8.self)), let stored = configuration.memory[location]
            else { return .refuse(.invalidIndex) }
            return dial(number: stored)
        }
        guard !number.isEmpty, number.allSatisfy(ATText.isDialByte) else { return .refuse(.invalidDialString) }
        guard number.count <= 80 else { return .refuse(.dialStringTooLong) }
        return dial(number: String(decoding: number, as: UTF8.self))
    }

    /// Refuses a second number while a call is being dialled: a button pressed twice.
    private func dial(number: String) -> Reply {
        calls.calls.contains(where: \.state.isOutgoingSetup) ? .refuse(.notAllowed) : .ask(.dial(number: number))
    }

    /// Options for +CHLD=?. A headset that asks although we do not support three-way calling receives those that end calls,
    /// because an ERROR makes some give up (docs/inside/Interop.md A9).
    private var threeWayOptions: [ThreeWayOption] {
        guard features.contains(.threeWay) else { return [.releaseHeldOrRejectWaiting, .releaseActiveAndAcceptOther] }
        return configuration.threeWay.filter { option in
            features.contains(.enhancedCallControl) || (option != .release && option != .consult)
        }
    }

    private func threeWay(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        guard let text = parameters.text() else { throw .missing }
        guard let action = ThreeWayAction(text: text) else { throw .range }
        try parameters.end()
        guard threeWayOptions.contains(ThreeWayOption(action)) else { return .refuse(.notSupported) }
        return hasCalls(for: action) ? .ask(.threeWay(action)) : .refuse(.notAllowed)
    }

    private func hasCalls(for action: ThreeWayAction) -> Bool {
        let isRinging = calls.ringing != nil || calls.waiting != nil
        let isOutgoing = calls.first(.dialing) != nil || calls.first(.alerting) != nil
        let isActive = calls.first(.active) != nil
        let isHeld = calls.first(.held) != nil
        switch action {
        case .releaseHeldOrRejectWaiting: return isRinging || isHeld
        case .releaseActiveAndAcceptOther: return isRinging || isHeld || isActive || isOutgoing
        case .holdActiveAndAcceptOther: return isRinging || (!isOutgoing && (isHeld || isActive))
        case .release(let index):
            return calls.calls.contains { $0.index == index && $0.state != .setup && !$0.state.isRinging }
        case .consult(let index):
            return !isOutgoing
                && calls.calls.contains { $0.index == index && ($0.state == .active || $0.state == .held) }
        case .join: return isActive && isHeld
        case .transfer: return isHeld && (isActive || calls.first(.alerting) != nil)
        }
    }

    /// Handles AT+VTS=tone, with or without quotes and a length, which is up to the provider. Letters are capital (3GPP TS
    /// 27.007 §C.2.11).
    private func tone(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        guard let text = parameters.text(), let byte = text.utf8.first, text.utf8.count == 1 else { throw .text }
        _ = try parameters.optionalNumber()
        try parameters.end()
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "D"), UInt8(ascii: "*"),
            UInt8(ascii: "#"):
            guard calls.indicators.call == 1 || calls.indicators.callSetup >= 2 else { return .refuse(.notAllowed) }
            return .ask(.sendDTMF(text))
        default:
            throw .text
        }
    }
}
