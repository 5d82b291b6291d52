package import BluetoothTypes
import Telephony

/// +CIND, +CMER, +CIEV, +BIA and the headset's own indicators, +BIND and +BIEV.
extension AudioGateway {
    /// Sets an indicator that is not derived from calls. Values are clamped to the indicator's range; `call`, `callSetup`
    /// and `callHeld` come from the snapshots and are rejected here.
    ///
    /// - Parameter now: allows reporting the loss of the network as the reason for the end of a call just before.
    package mutating func setIndicator(_ indicator: Indicator, _ value: Int, at now: Instant? = nil) -> [Action] {
        guard !indicator.isMandatory else { return [.fault("indicator \(indicator.name) is set by snapshots only")] }
        let before = values[indicator]
        values[indicator] = value
        if values[indicator] != before {
            report(indicator)
            if indicator == .service { followNetwork(at: now) }
        }
        return finish()
    }

    /// Sets whether reports of the headset's own indicator are enabled (+BIND: id,state).
    package mutating func setHFIndicator(_ indicator: HFIndicator, isEnabled: Bool) -> [Action] {
        guard let before = hfIndicatorIsOn[indicator], before != isEnabled else { return finish() }
        hfIndicatorIsOn[indicator] = isEnabled
        if connection.usesHFIndicators, connection.hfIndicators.contains(indicator) {
            sendUnsolicited(.hfIndicator(indicator, isEnabled: isEnabled))
        }
        return finish()
    }

    /// Sends +CIEV, if the headset has enabled it and does not have this value.
    mutating func report(_ indicator: Indicator) {
        let value = values[indicator]
        guard isOpen, connection.isEstablished, isReporting, sent[indicator] != value else { return }
        guard indicator.isMandatory || !deactivated.contains(indicator) else { return }
        // While a reply is due, only the latest value is kept; calls are reported step by step.
        guard !isReplyDue || indicator.isMandatory else {
            if !deferred.contains(.report(indicator)) { deferred.append(.report(indicator)) }
            return
        }
        sent[indicator] = value
        sendUnsolicited(.indicator(indicator, value))
    }

    mutating func update(_ indicators: CallIndicators) {
        values[.call] = indicators.call
        values[.callSetup] = indicators.callSetup
        values[.callHeld] = indicators.callHeld
    }

    mutating func respondAboutIndicators(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        switch (name, command.form) {
        case (.indicators, .test):
            connection.heard(.indicatorList)
            send(.indicatorList)
            return .done
        case (.indicators, .read):
            connection.heard(.indicatorValues)
            for indicator in Indicator.allCases { sent[indicator] = values[indicator] }
            send(.indicatorValues(values))
            return .done
        case (.reporting, .set): return try setReporting(command.parameters)
        case (.activation, .set): return try setActivation(command.parameters)
        case (.hfIndicators, _): return try respondAboutHFIndicators(command)
        case (.hfIndicatorValue, .set): return try handleHFIndicator(command.parameters)
        default: return .refuse(.notSupported)
        }
    }

    /// Handles AT+CMER=3,0,0,1 and 3,0,0,0; other modes switch reporting off.
    private mutating func setReporting(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        let mode = try parameters.number(in: 0...3)
        _ = try parameters.optionalNumber()
        _ = try parameters.optionalNumber()
        let value = try parameters.optionalNumber() ?? 0
        _ = try parameters.optionalNumber()
        try parameters.end()
        guard (0...1).contains(value) else { throw .range }
        isReporting = mode == 3 && value == 1
        connection.heard(.reporting)
        return .done
    }

    /// Handles AT+BIA: one field for each indicator; an empty field keeps the setting, surplus fields are ignored.
    private mutating func setActivation(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        var next = deactivated
        var position = 0
        while !parameters.isAtEnd {
            let value = try parameters.optionalNumber()
            position += 1
            guard position <= 64 else { throw .excess }
            guard let value else { continue }
            guard (0...1).contains(value) else { throw .range }
            guard let indicator = Indicator(rawValue: position), !indicator.isMandatory else { continue }
            if value == 1 { next.remove(indicator) } else { next.insert(indicator) }
        }
        deactivated = next
        return .done
    }

    /// Answers all three forms with OK even without the feature: some headsets wait for it.
    private mutating func respondAboutHFIndicators(_ command: ATCommand) throws(ATSyntaxError) -> Reply {
        let ours = features.contains(.hfIndicators) ? hfIndicatorIsOn.keys.sorted() : []
        switch command.form {
        case .set:
            var parameters = command.parameters
            let numbers = try parameters.numbers(limit: 32)
            guard numbers.allSatisfy({ $0 <= UInt16.max }) else { throw .range }
            let list = numbers.compactMap { HFIndicator(rawValue: $0) }
            connection.heard(.hfIndicators(list))
        case .test:
            connection.heard(.hfIndicatorList)
            if features.contains(.hfIndicators) { send(.hfIndicatorList(ours)) }
        case .read:
            connection.heard(.hfIndicatorStates)
            for indicator in ours { send(.hfIndicator(indicator, isEnabled: hfIndicatorIsOn[indicator] == true)) }
        case .action:
            return .refuse(.notSupported)
        }
        return .done
    }

    /// Handles AT+BIEV: ERROR for an indicator that is unknown, switched off or out of range; the connection stays
    /// (docs/inside/Interop.md A16).
    private mutating func handleHFIndicator(_ list: ATParameters) throws(ATSyntaxError) -> Reply {
        var parameters = list
        let id = try parameters.number()
        let value = try parameters.number()
        try parameters.end()
        guard features.contains(.hfIndicators), let indicator = HFIndicator(rawValue: id),
            hfIndicatorIsOn[indicator] == true
        else { return .refuse(.notSupported) }
        guard indicator.range.contains(value) else { return .refuse(.invalidIndex) }
        switch indicator {
        case .batteryLevel:
            tell(.battery(BatteryReport(.hfIndicator, percent: value, level: value, levels: 101)))
        case .enhancedSafety: tell(.hfIndicator(indicator, value))
        }
        return .done
    }
}
