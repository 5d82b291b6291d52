package import BTCallAPI
package import ControlLoop

/// The daemon's activation state: one change at a time, and the latest request wins.
///
/// The states are `inactive`, `activating`, `active`, `deactivating` and `inactive` again; a request to deactivate while
/// `activating` leads to `deactivating`. A request completes when its state is reached, or fails when a later request makes
/// that impossible.
@ControlPlane
package final class Activation {
    package typealias State = ManagerDescription.State

    package enum Goal: Sendable { case active, inactive }

    private struct Waiter {
        let goal: Goal
        /// Runs at the moment the goal is reached, before anything can change the state again.
        let action: (@ControlPlane () -> Void)?
        let continuation: CheckedContinuation<Result<Void, APIError>, Never>
    }

    package private(set) var state = State.inactive { didSet { onState?(state) } }
    package var onState: (@ControlPlane (State) -> Void)?
    /// Starts to serve; the state stays `activating` until `isReady`.
    package var open: (@ControlPlane () -> Void)?
    /// Whether every service that btcalld registered with has answered.
    package var isReady: (@ControlPlane () -> Bool)?
    /// Stops serving.
    package var close: (@ControlPlane () -> Void)?
    /// Takes back the registrations with other services; the state stays `deactivating` until it returns.
    package var withdraw: (@ControlPlane () async -> Void)?

    private let timeout: Duration
    private var goal = Goal.inactive
    private var waiters: [Waiter] = []
    private var limit: Timer?
    private var isOpening = false
    private var isEnded = false

    /// - Parameter timeout: the longest time to stay `activating`.
    package init(timeout: Duration) {
        self.timeout = timeout
    }

    /// Becomes active when the daemon starts, without waiting for `isReady`.
    package func beginActive() {
        guard state == .inactive, !isEnded else { return }
        goal = .active
        begin()
        finishActivating()
    }

    /// Returns once the goal is reached.
    ///
    /// - Parameter action: runs at that moment, before anything can change the state again.
    /// - Throws: `wrongState` when the goal cannot be reached: a later request asks for the opposite, or the daemon ends.
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

    /// Deactivates for good: later requests to activate fail.
    package func end() async {
        isEnded = true
        // Never fails: `inactive` can always be reached.
        try? await reach(.inactive)
    }

    /// `isReady` may have changed.
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
            limit = ControlLoop.shared.schedule(after: timeout) { [weak self] in
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
