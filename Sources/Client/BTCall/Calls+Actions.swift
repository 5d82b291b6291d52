import BTCallAPI
import DBus

extension Calls {
    /// Holds the active call and resumes the held one; a waiting call keeps waiting.
    ///
    /// Returns when their applications have done so; each has five seconds.
    /// - Throws: `.wrongState` without an active and a held call; `.notSupported`, `.providerFailed` or `.timedOut`.
    public func swap() async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.swap)
    }

    /// Joins the active and the held call into one conversation; both must belong to the same application.
    ///
    /// - Throws: as ``swap()``.
    public func conference() async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.conference)
    }

    /// Holds the active call.
    ///
    /// - Returns: `.canceled` when the call ended meanwhile, for whatever reason.
    public func hold(_ call: Call.ID) async -> CallActionResult { await change(call, held: true) }

    /// Resumes the held call; the active call is held.
    ///
    /// - Returns: as ``hold(_:)``.
    public func resume(_ call: Call.ID) async -> CallActionResult { await change(call, held: false) }

    private func change(_ call: Call.ID, held: Bool) async -> CallActionResult {
        do throws(BridgeError) {
            try await setHeld(call, held)
            return .done
        } catch {
            return error.code == .noSuchCall ? .canceled : .failed(error)
        }
    }
}

/// Outcome of an action on a call. Only `done` has changed the call's state.
public enum CallActionResult: Hashable, Sendable {
    case done
    /// The call ended before the action could be done.
    case canceled
    /// The call is unchanged.
    case failed(BridgeError)
}
