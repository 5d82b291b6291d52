/// All calls of the board: merges the reports of providers and the requests of headsets, command line and D-Bus into one
/// consistent list.
///
/// Rules:
/// - A call appears by `.added` before any other action about it, and leaves by `.ended`; `calls` contains live calls only.
/// - While any call is up, ringing calls are `waiting`; otherwise the oldest one is `incoming`, whichever of the two was
///   reported.
/// - A request becomes steps for providers, one after the other. A fulfilled step has happened, even if the provider never
///   reports it. A report of the present state changes nothing.
/// - Answering or resuming a call first holds the active ones. When a provider reports a call active without a request, the
///   active calls of *other* providers are held.
/// - Calls of a provider without call state are not shown to headsets and do not block others: such a call is held or ended
///   to make room, and lets nobody wait.
/// - No input of a provider or headset can trap, and nothing depends on hash order.
package struct CallTable: Sendable {
    package struct Configuration: Hashable, Sendable {
        package enum SecondCall: String, Hashable, Sendable, CaseIterable { case wait, reject }
        package var secondCall: SecondCall
        package var doNotDisturb: Bool

        package init(secondCall: SecondCall = .wait, doNotDisturb: Bool = false) {
            self.secondCall = secondCall
            self.doNotDisturb = doNotDisturb
        }
    }

    package enum Action: Hashable, Sendable {
        case added(Call)
        /// The call in its new state.
        case changed(Call)
        /// The call in its last state, `ended`.
        case ended(Call)
        /// Request this action; answer with `providerAnswered` for this id.
        case perform(ProviderAction, provider: String, id: ProviderActionID)
        /// A request has been completed.
        case completed(CallRequestID, CallRequestOutcome)

        /// The call added by this action.
        var added: CallID? {
            if case .added(let call) = self { call.id } else { nil }
        }
    }

    /// Steps of a request.
    struct Plan: Hashable, Sendable {
        let steps: [ProviderAction]
        /// The call that leaves its multiparty call when all steps are done: private consultation.
        var split: CallID?

        init(_ steps: [ProviderAction], split: CallID? = nil) {
            self.steps = steps
            self.split = split
        }
    }

    /// Steps being carried out; the first one has been sent to its provider.
    struct Procedure: Sendable {
        let plan: Plan
        var remaining: [ProviderAction]
        var inFlight: ProviderActionID
        var provider: String
        var requests: [CallRequestID]
    }

    /// Changes apply to later events.
    package var configuration: Configuration
    /// In the order of registration.
    package internal(set) var providers: [CallProvider] = []
    /// In the order of report.
    package internal(set) var calls: [Call] = []
    var procedures: [Procedure] = []
    private var lastCall: UInt32 = 0
    private var lastAction: UInt64 = 0

    package static let maximumCalls = 7

    package init(configuration: Configuration = Configuration()) {
        self.configuration = configuration
    }

    /// Calls shown by gateways; equal tables give equal snapshots.
    package var snapshot: CallSnapshot { CallSnapshot(calls.filter(\.isShown)) }

    /// Whether audio is exchanged, or about to be, for a call not shown by gateways.
    package var isSpeakingUnshown: Bool {
        calls.contains { !$0.isShown && ($0.state == .active || $0.state.isOutgoingSetup) }
    }

    package func call(_ id: CallID) -> Call? {
        calls.first { $0.id == id }
    }

    // MARK: Building blocks of the extensions

    func provider(_ name: String) -> CallProvider? {
        providers.first { $0.name == name }
    }

    mutating func nextAction() -> ProviderActionID {
        lastAction += 1
        return ProviderActionID(lastAction)
    }

    /// Adds a call under the lowest free index; nil when all seven are taken.
    mutating func add(
        _ details: CallDetails, direction: CallDirection, state: CallState, provider: CallProvider
    ) -> Call? {
        guard let index = (1...Self.maximumCalls).first(where: { index in !calls.contains { $0.index == index } })
        else {
            return nil
        }
        lastCall &+= 1
        let call = Call(
            id: CallID(lastCall), provider: provider.name, direction: direction, state: state, details: details,
            capabilities: details.capabilities ?? provider.capabilities, index: index, isShown: provider.hasCallState)
        calls.append(call)
        return call
    }

    /// Changes one call and reports any difference; ends it when the new state is `ended`.
    mutating func change(_ id: CallID, _ actions: inout [Action], _ body: (inout Call) -> Void) {
        guard let position = calls.firstIndex(where: { $0.id == id }) else { return }
        let before = calls[position]
        body(&calls[position])
        let after = calls[position]
        guard after != before else { return }
        if after.state.isEnded {
            calls.remove(at: position)
            actions.append(.ended(after))
        } else {
            actions.append(.changed(after))
        }
    }

    mutating func setState(_ id: CallID, _ state: CallState, _ actions: inout [Action]) {
        change(id, &actions) { $0.state = state }
    }

    /// Updates `incoming`, `waiting` and the multiparty marks; last step of every input.
    mutating func settle(_ actions: inout [Action]) {
        let isUp = calls.contains { $0.isShown && !$0.state.isRinging && $0.state != .setup }
        var first = !isUp
        for call in calls where call.state.isRinging {
            setState(call.id, first ? .incoming : .waiting, &actions)
            first = false
        }
        for call in calls where call.isConference {
            let partners = calls.filter { $0.isConference && $0.provider == call.provider }
            if partners.count < 2 || call.state.isRinging || call.state.isOutgoingSetup {
                change(call.id, &actions) { $0.isConference = false }
            }
        }
    }
}
