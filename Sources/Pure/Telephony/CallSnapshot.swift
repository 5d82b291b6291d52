/// All calls at one moment, in the order of their index, for the gateways and for D-Bus.
package struct CallSnapshot: Hashable, Sendable {
    package let calls: [Call]
    package let indicators: CallIndicators

    /// - Parameter calls: in any order; ended calls are left out.
    package init(_ calls: [Call]) {
        self.calls = calls.filter { !$0.state.isEnded }.sorted { ($0.index, $0.id) < ($1.index, $1.id) }
        indicators = CallIndicators(self.calls)
    }

    package static let empty = CallSnapshot([])

    /// First call in this state.
    package func first(_ state: CallState) -> Call? {
        calls.first { $0.state == state }
    }

    package subscript(id: CallID) -> Call? {
        calls.first { $0.id == id }
    }

    /// The call for which a headset rings: an incoming one, or a waiting one if no other call is left.
    package var ringing: Call? {
        if let call = first(.incoming) { return call }
        return calls.contains { !$0.state.isRinging && $0.state != .setup } ? nil : first(.waiting)
    }

    /// The call that a headset announces by call waiting.
    package var waiting: Call? {
        guard let call = first(.waiting), call.id != ringing?.id else { return nil }
        return call
    }

    /// The call that an answer refers to: the one for which a headset rings, otherwise the waiting one.
    package var answerable: Call? { ringing ?? waiting }

    /// Whether an active and a held call of `earlier` have changed places.
    package func swapped(since earlier: CallSnapshot) -> Bool {
        func moved(from old: CallState, to new: CallState) -> Bool {
            earlier.calls.contains { $0.state == old && self[$0.id]?.state == new }
        }
        return moved(from: .active, to: .held) && moved(from: .held, to: .active)
    }
}

/// The three call indicators of HFP (HFP 1.9 §4.34.2, +CIEV), derived in this one place.
package struct CallIndicators: Hashable, Sendable {
    /// 1 while a call is active or held.
    package let call: Int
    /// 0 none, 1 incoming (or waiting), 2 dialing, 3 the remote party is alerted.
    package let callSetup: Int
    /// 0 none, 1 an active and a held call, 2 held calls only.
    package let callHeld: Int

    package init(_ calls: [Call]) {
        func has(_ state: CallState) -> Bool { calls.contains { $0.state == state } }
        call = has(.active) || has(.held) ? 1 : 0
        if has(.incoming) {
            callSetup = 1
        } else if has(.alerting) {
            callSetup = 3
        } else if has(.dialing) {
            callSetup = 2
        } else {
            callSetup = has(.waiting) ? 1 : 0
        }
        callHeld = has(.held) ? (has(.active) ? 1 : 2) : 0
    }
}
