import Telephony

/// An incoming call that is kept waiting: neither answered nor held as +CIEV knows it (HFP 1.9 §4.30).
struct ResponseAndHoldState: Sendable {
    /// The call that is kept waiting now.
    var call: CallID?
    /// What +BTRH said already of a change that the next snapshot brings.
    var announced: ResponseAndHold?

    var isHolding: Bool { call != nil || announced == .hold }
}

extension AudioGateway {
    /// +BTRH for what became of the call, whoever did it: an incoming call that is held at once is kept waiting; what was
    /// kept waiting is answered or over.
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

    /// After the OK of AT+BTRH, unless the snapshot was quicker. Before the service level connection is established only
    /// AT+BTRH? tells.
    mutating func responseAndHoldDone(_ value: ResponseAndHold) {
        let line = Deferred.line(.responseAndHold(value.rawValue))
        guard !deferred.contains(line) else { return }
        if connection.isEstablished { deferred.insert(line, at: 0) }
        responseAndHold.announced = value
    }

    /// The headset hung up on the call that is kept waiting: it knows, without +BTRH (HFP 1.9 §4.30.6).
    mutating func hungUp(_ id: CallID) {
        guard responseAndHold.call == nil else {
            if responseAndHold.call == id { responseAndHold.announced = .reject }
            return
        }
        // The snapshot was quicker.
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
        guard let value = ResponseAndHold(rawValue: try parameters.number()) else { throw .malformed }
        try parameters.end()
        let isPossible = value == .hold ? calls.first(.incoming) != nil : responseAndHold.isHolding
        return isPossible ? .ask(.responseAndHold(value)) : .refuse(.notAllowed)
    }
}
