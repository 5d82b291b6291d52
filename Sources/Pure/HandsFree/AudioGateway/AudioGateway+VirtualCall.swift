import Telephony

/// Whether the headset is shown a call that is none.
struct VirtualCallState: Sendable {
    /// It is shown.
    var isShown = false
    /// Somebody asked for it.
    var isAsked = false
    /// The headset hung up on it; it does not come back before the audio link went and came.
    var isDismissed = false

    /// What AT+CLCC lists: the indicator `call` needs an entry, or some headsets ask again and again.
    static let call = Call(id: CallID(0), provider: "", direction: .outgoing, state: .active, index: 1)
}

extension AudioGateway {
    /// Somebody who reports no calls speaks to the headset, or has ended. Nothing happens unless the configuration allows it.
    package mutating func setVirtualCall(_ isOn: Bool) -> [Action] {
        virtualCall.isAsked = isOn
        if isOn { virtualCall.isDismissed = false }
        return finish()
    }

    /// The calls as this headset is shown them.
    var shownCalls: [Call] {
        if virtualCall.isShown { return [VirtualCallState.call] }
        return calls.calls.filter { $0.state != .setup }
    }

    /// Brings the virtual call in line with the audio and with the real calls; one change of one indicator.
    mutating func followAudio() {
        guard configuration.virtualCall != .never, !isHeadsetProfile else { return }
        if !audio.isInUse, !virtualCall.isAsked { virtualCall.isDismissed = false }
        guard virtualCall.isShown != wantsVirtualCall else { return }
        virtualCall.isShown = wantsVirtualCall
        take(shownIndicators)
        report(.call)
    }

    /// Ends it when a real call is there; the caller reports.
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
