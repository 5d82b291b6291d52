import BluetoothTypes
import Telephony

/// The headset's queries about calls and network, and its settings for reports: +CLCC, +BCDI, +CLIP, +CCWA, +CNUM, +COPS,
/// +CMEE.
extension AudioGateway {
    mutating func respondAboutNetwork(
        _ name: CommandName, _ command: ATCommand, at now: Instant
    ) throws(ATSyntaxError) -> Reply {
        switch (name, command.form) {
        case (.currentCalls, .action):
            // Without the feature an empty list: some headsets ask anyway and need the OK (docs/inside/Interop.md A7).
            if features.contains(.enhancedCallStatus) {
                for call in listedCalls { send(.currentCall(call, isHeldByResponse: call.id == responseAndHold.call)) }
            }
        case (.callDurations, .action):
            guard features.contains(.callDuration) else { return .refuse(.notSupported) }
            sendDurations(at: now)
        case (.callerIdentification, .set): wantsCallerIdentification = try flag(command)
        case (.callWaiting, .set): wantsCallWaiting = try callWaitingFlag(command.parameters)
        case (.extendedErrors, .set):
            guard features.contains(.extendedErrors) else { return .refuse(.notSupported) }
            wantsExtendedErrors = try flag(command)
        case (.subscriberNumber, .action):
            for number in configuration.subscriberNumbers { send(.subscriberNumber(number)) }
        case (.networkOperator, .set):
            var parameters = command.parameters
            guard try parameters.number() == 3, try parameters.number() == 0 else { throw .range }
            try parameters.end()
        case (.networkOperator, .read): send(.networkOperator(configuration.networkOperator))
        default: return .refuse(.notSupported)
        }
        return .done
    }

    /// The calls in the order of AT+CLCC.
    private var listedCalls: [Call] {
        guard configuration.quirks.secondCallWaits else { return shownCalls }
        return shownCalls.map { call in
            guard call.index > 1, call.state == .incoming else { return call }
            var call = call
            call.state = .waiting
            return call
        }
    }

    /// Sends +BCDI for each call that AT+CLCC lists as active or held (HFP 1.10 §4.37), counted from its answer.
    private mutating func sendDurations(at now: Instant) {
        for call in calls.calls where call.id != responseAndHold.call {
            guard call.state == .active || call.state == .held, let start = startedAt[call.id] else { continue }
            let seconds = start.duration(to: now).components.seconds
            send(.callDuration(index: call.index, seconds: max(seconds, 0)))
        }
    }

    /// Reads AT+CCWA=n; mode and class after it are optional and ignored.
    private func callWaitingFlag(_ list: ATParameters) throws(ATSyntaxError) -> Bool {
        var parameters = list
        let value = try parameters.number(in: 0...1)
        _ = try parameters.optionalNumber()
        _ = try parameters.optionalNumber()
        try parameters.end()
        return value == 1
    }
}
