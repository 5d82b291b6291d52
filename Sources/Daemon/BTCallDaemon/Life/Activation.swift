package import BTCallAPI
package import ControlLoop

/// Whether the daemon is active: one change at a time, and the latest wish wins.
///
/// `inactive`, `activating`, `active`, `deactivating`, and so on round; who is wanted inactive while activating goes on to
/// `deactivating`. Whoever asked is answered when the state was reached, or is out of reach by a later wish.
@ControlPlane
package final class Activation {
    package typealias State = ManagerDescription.State

    package enum Goal: Sendable { case active, inactive }

    private struct Waiter {
        let goal: Goal
        /// Done in the very moment in which it is reached, before anybody can leave it again.
        let action: (@ControlPlane () -> Void)?
        let continuation: CheckedContinuation<Result<Void, APIError>, Never>
    }

    package private(set) var state = State.inactive { didSet { onState?(state) } }
    package var onState: (@ControlPlane (State) -> Void)?
    /// Begins to serve; activating lasts until `isReady`.
    package var open: (@ControlPlane () -> Void)?
    /// Whether everybody who was asked has answered.
    package var isReady: (@ControlPlane () -> Bool)?
    /// Stops serving.
    package var close: (@ControlPlane () -> Void)?
    /// Takes back what others were told; deactivating lasts until it returns.
    package var withdraw: (@ControlPlane () async -> Void)?

    private let patience: Duration
    private var goal = Goal.inactive
    private var waiters: [Waiter] = []
    private var limit: Timer?
    private var isOpening = false
    private var isEnded = false

    /// - Parameter patience: the longest that activating lasts.
    package init(patience: Duration) {
        self.patience = patience
    }

    /// Becomes active without waiting for anybody: when the daemon starts.
    package func beginActive() {
        guard state == .inactive, !isEnded else { return }
        goal = .active
        begin()
        finishActivating()
    }

    /// Returns when the goal was reached.
    ///
    /// - Parameter action: is done at that moment, with nobody in between.
    /// - Throws: `wrongState` when it is not to be reached: somebody else wants the opposite meanwhile, or the daemon ends.
    package func reach(_ wanted: Goal, then action: (@ControlPlane () -> Void)? = nil) async throws(APIError) {
        guard !isEnded || wanted == .inactive else { throw Self.ending }
        goal = wanted
        if wanted == .inactive {
            fail(.active, isEnded ? Self.ending : Self.deactivated)
        }
        let result = await withCheckedContinuation { continuation in
            waiters.append(Waiter(goal: wanted, action: action, continuation: continuation))
            proceed()
        }
        try result.get()
    }

    /// Nobody activates it any more.
    package func end() async {
        isEnded = true
        // Being inactive is always to be reached.
        try? await reach(.inactive)
    }

    /// `isReady` may be another than before.
    package func readinessChanged() {
        guard state == .activating, !isOpening, isReady?() ?? true else { return }
        finishActivating()
    }

    private func proceed() {
        switch state {
        case .inactive:
            guard goal == .active else { return succeed(.inactive) }
            begin()
            readinessChanged()
            guard state == .activating else { return }
            limit = ControlLoop.shared.schedule(after: patience) { [weak self] in
                guard let self, state == .activating else { return }
                finishActivating()
            }
        case .active:
            if goal == .active { succeed(.active) } else { leave() }
        case .activating:
            if goal == .inactive { leave() }
        case .deactivating: return
        }
    }

    private func begin() {
        state = .activating
        isOpening = true
        open?()
        isOpening = false
    }

    private func finishActivating() {
        limit?.cancel()
        limit = nil
        state = .active
        succeed(.active)
    }

    private func leave() {
        limit?.cancel()
        limit = nil
        state = .deactivating
        close?()
        Task { @ControlPlane in
            await withdraw?()
            state = .inactive
            succeed(.inactive)
            proceed()
        }
    }

    private func succeed(_ reached: Goal) {
        let done = waiters.filter { $0.goal == reached }
        waiters.removeAll { $0.goal == reached }
        for waiter in done {
            waiter.action?()
            waiter.continuation.resume(returning: .success(()))
        }
    }

    private func fail(_ lost: Goal, _ error: APIError) {
        let failed = waiters.filter { $0.goal == lost }
        waiters.removeAll { $0.goal == lost }
        for waiter in failed { waiter.continuation.resume(returning: .failure(error)) }
    }

    private static let deactivated = APIError(
        .wrongState, "somebody else has deactivated btcalld meanwhile: activate it again")
    private static let ending = APIError(.wrongState, "btcalld is ending: activate it when it has started again")
}
