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

    /// Ends or rejects the call, as ``hangup(_:)``.
    ///
    /// - Returns: `.canceled` when the call had ended already.
    public func end(_ call: Call.ID) async -> CallActionResult {
        await result { () throws(BridgeError) in try await hangup(call) }
    }

    /// Ends or rejects every call of every application.
    ///
    /// Returns when all have ended. The daemon waits five seconds for each application.
    /// - Throws: `.providerFailed` or `.timedOut` when a call has not ended.
    public func removeAllCalls() async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.removeAll)
    }

    private func change(_ call: Call.ID, held: Bool) async -> CallActionResult {
        await result { () throws(BridgeError) in try await setHeld(call, held) }
    }

    private func result(_ body: () async throws(BridgeError) -> Void) async -> CallActionResult {
        do throws(BridgeError) {
            try await body()
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
