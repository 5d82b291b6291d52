import Telephony

/// An incoming call that is kept waiting: for +CIEV neither answered nor held (HFP 1.9 §4.30).
struct ResponseAndHoldState: Sendable {
    /// The call that is being kept waiting.
    var call: CallID?
    /// Change already reported by +BTRH that the next snapshot will contain.
    var announced: ResponseAndHold?

    var isHolding: Bool { call != nil || announced == .hold }
}

extension AudioGateway {
    /// Sends +BTRH for a change of the call, whatever caused it: an incoming call that is held at once is kept waiting; a
    /// call that was kept waiting is answered or has ended.
    mutating func followResponseAndHold(_ before: CallSnapshot) {
        guard configuration.responseAndHold else { return }
        if let id = responseAndHold.call {
            switch calls[id]?.state {
            case .held: break
            case .active:
                responseAndHold.call = nil
                announce(.accept)
            case .setup, .dialing, .alerting, .incoming, .waiting: responseAndHold.call = nil
            case .ended, nil:
                responseAndHold.call = nil
                announce(.reject)
            }
        } else if let id = before.first(.incoming)?.id, calls[id]?.state == .held {
            responseAndHold.call = id
            announce(.hold)
        }
        if calls.calls.isEmpty { responseAndHold.announced = nil }
    }

    /// Announces the result after the OK of AT+BTRH, unless the snapshot arrived earlier. Before the service level
    /// connection is established only AT+BTRH? reports it.
    mutating func responseAndHoldDone(_ value: ResponseAndHold) {
        let line = Deferred.line(.responseAndHold(value.rawValue))
        guard !deferred.contains(line) else { return }
        if connection.isEstablished { deferred.insert(line, at: 0) }
        responseAndHold.announced = value
    }

    /// Handles the headset's hang-up on the call that is kept waiting: no +BTRH, because it knows (HFP 1.9 §4.30.6).
    mutating func hungUp(_ id: CallID) {
        guard responseAndHold.call == nil else {
            if responseAndHold.call == id { responseAndHold.announced = .reject }
            return
        }
        // The snapshot arrived earlier.
        deferred.removeAll { $0 == .line(.responseAndHold(ResponseAndHold.reject.rawValue)) }
    }

    private mutating func announce(_ value: ResponseAndHold) {
        if responseAndHold.announced == value {
            responseAndHold.announced = nil
        } else {
            sendUnsolicited(.responseAndHold(value.rawValue))
        }
    }

    mutating func respondToResponseAndHold(_ command: ATCommand) throws(ATSyntaxError) -> Reply {
        if command.form == .read {
            if responseAndHold.isHolding { send(.responseAndHold(ResponseAndHold.hold.rawValue)) }
            return .done
        }
        guard command.form == .set, configuration.responseAndHold else { return .refuse(.notSupported) }
        var parameters = command.parameters
        guard let value = ResponseAndHold(rawValue: try parameters.number()) else { throw .range }
        try parameters.end()
        let isPossible = value == .hold ? calls.first(.incoming) != nil : responseAndHold.isHolding
        return isPossible ? .ask(.responseAndHold(value)) : .refuse(.notAllowed)
    }
}
