package import BTCall
internal import ControlLoop
package import JSONText

/// What people request of the application that owns a call.
package enum CallRequest: Hashable, Sendable {
    case start(number: String)
    case answer
    case end(reason: String)
    case held(Bool)
    case tones(String)
    case muted(Bool)
    /// A talk key is pressed, or nobody talks any more.
    case talking(Bool)
    /// The request's call is held, this one resumed.
    case swapped(with: Call.ID)
    /// The request's call is the first of these.
    case joined([Call.ID])

    /// Its name for scripts.
    package var word: String {
        switch self {
        case .start: "start"
        case .answer: "answer"
        case .end: "end"
        case .held(let isHeld): isHeld ? "hold" : "resume"
        case .tones: "dtmf"
        case .muted(let isMuted): isMuted ? "mute" : "unmute"
        case .talking(let isPressed): isPressed ? "talk" : "listen"
        case .swapped: "swap"
        case .joined: "conference"
        }
    }

    /// Its fields besides the call.
    package var members: [(String, JSON)] {
        switch self {
        case .start(let number): [("number", .string(number))]
        case .end(let reason): [("reason", .string(reason))]
        case .tones(let tones): [("tones", .string(tones))]
        case .swapped(let other): [("resume", .string(other.description))]
        case .joined(let calls): [("calls", .array(calls.map { .string($0.description) }))]
        case .answer, .held, .muted, .talking: []
        }
    }
}

/// An application that passes all requests on in one way.
package protocol CallRequestReceiving: CallProvider {
    /// Carries a request out, or refuses it; btcalld waits five seconds.
    @ControlPlane func handle(_ request: CallRequest, _ call: Call.ID) async throws(ProviderRefusal)
}

extension CallRequestReceiving {
    @ControlPlane package func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {
        try await handle(.start(number: number), call)
    }

    @ControlPlane package func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {
        try await handle(.answer, call)
    }

    @ControlPlane package func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {
        try await handle(.end(reason: reason), call)
    }

    @ControlPlane package func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {
        try await handle(.held(held), call)
    }

    @ControlPlane package func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {
        try await handle(.tones(tones), call)
    }

    @ControlPlane package func performSetMuted(_ call: Call.ID, _ muted: Bool) async throws(ProviderRefusal) {
        try await handle(.muted(muted), call)
    }

    @ControlPlane package func performTalk(_ call: Call.ID, _ pressed: Bool) async throws(ProviderRefusal) {
        try await handle(.talking(pressed), call)
    }

    @ControlPlane package func performSwap(hold: Call.ID, resume: Call.ID) async throws(ProviderRefusal) {
        try await handle(.swapped(with: resume), hold)
    }

    @ControlPlane package func performConference(_ calls: [Call.ID]) async throws(ProviderRefusal) {
        guard let first = calls.first else { throw .noSuchCall("no calls are named") }
        try await handle(.joined(calls), first)
    }
}
