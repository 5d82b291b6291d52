import Telephony

/// State of the virtual call that is shown to the headset while no real one exists.
struct VirtualCallState: Sendable {
    /// The headset sees it.
    var isShown = false
    /// Requested by an application.
    var isAsked = false
    /// The headset hung up on it; it stays hidden until the audio link has been closed and reopened.
    var isDismissed = false

    /// Entry for AT+CLCC: with the indicator `call` on, some headsets query until they get one.
    static let call = Call(id: CallID(0), provider: "", direction: .outgoing, state: .active, index: 1)
}

extension AudioGateway {
    /// Reports that an application without calls starts or stops using the headset. No effect unless the configuration
    /// allows it.
    package mutating func setVirtualCall(_ isOn: Bool) -> [Action] {
        virtualCall.isAsked = isOn
        if isOn { virtualCall.isDismissed = false }
        return finish()
    }

    /// Calls as shown to this headset.
    var shownCalls: [Call] {
        if virtualCall.isShown { return [VirtualCallState.call] }
        return calls.calls.filter { $0.state != .setup }
    }

    /// Shows or hides the virtual call according to the audio and the real calls; changes one indicator once.
    mutating func followAudio() {
        guard configuration.virtualCall != .never, !isHeadsetProfile else { return }
        if !audio.isInUse, !virtualCall.isAsked { virtualCall.isDismissed = false }
        guard virtualCall.isShown != wantsVirtualCall else { return }
        virtualCall.isShown = wantsVirtualCall
        update(shownIndicators)
        report(.call)
    }

    /// Hides the virtual call when a real one exists; the caller reports it.
    mutating func yieldVirtualCall() {
        if virtualCall.isShown, !wantsVirtualCall { virtualCall.isShown = false }
    }

    private var wantsVirtualCall: Bool {
        guard isOpen, !virtualCall.isDismissed, calls.calls.allSatisfy({ $0.state == .setup }) else { return false }
        switch configuration.virtualCall {
        case .never: return false
        case .onRequest: return virtualCall.isAsked
        case .withAudio: return virtualCall.isAsked || audio.isInUse
        }
    }
}
