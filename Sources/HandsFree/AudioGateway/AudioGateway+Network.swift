import Telephony

/// What the headset asks about the network and how it wants to be told: +CLCC, +CLIP, +CCWA, +CNUM, +COPS, +CMEE.
extension AudioGateway {
    mutating func respondAboutNetwork(_ name: CommandName, _ command: ATCommand) throws(ATSyntaxError) -> Reply {
        switch (name, command.form) {
        case (.currentCalls, .action):
            // Without the feature an empty list: some headsets ask anyway and need the OK (INTEROP.md A7).
            if features.contains(.enhancedCallStatus) {
                for call in calls.calls where call.state != .setup { send(.currentCall(call)) }
            }
        case (.callerIdentification, .set): wantsCallerIdentification = try flag(command)
        case (.callWaiting, .set): wantsCallWaiting = try flag(command)
        case (.extendedErrors, .set):
            guard features.contains(.extendedErrors) else { return .refuse(.notSupported) }
            wantsExtendedErrors = try flag(command)
        case (.subscriberNumber, .action):
            for number in configuration.subscriberNumbers { send(.subscriberNumber(number)) }
        case (.networkOperator, .set):
            var parameters = command.parameters
            guard try parameters.number() == 3, try parameters.number() == 0 else { throw .malformed }
            try parameters.end()
        case (.networkOperator, .read): send(.networkOperator(configuration.networkOperator))
        default: return .refuse(.notSupported)
        }
        return .done
    }
}
