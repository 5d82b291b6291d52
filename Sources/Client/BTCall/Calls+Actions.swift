import BTCallAPI
import DBus

extension Calls {
    /// Holds the active call and takes the held one up; a call that waits stays one.
    ///
    /// Returns when their applications have done so; each has five seconds.
    /// - Throws: `.wrongState` without an active and a held call; `.notSupported`, `.providerFailed` or `.timedOut`.
    public func swap() async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.swap)
    }

    /// Makes one conversation of the active and the held call, which have to be of one application.
    ///
    /// - Throws: as ``swap()``.
    public func conference() async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.conference)
    }

    /// Holds the active call.
    ///
    /// - Returns: `.canceled` when the call ended meanwhile, whoever ended it.
    public func hold(_ call: Call.ID) async -> CallActionResult { await change(call, held: true) }

    /// Takes the held call up again; the call that is active is held.
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

/// What became of an action on a call. The state of the call has changed only with `done`.
public enum CallActionResult: Hashable, Sendable {
    case done
    /// There is no such call any more: it ended before the action could be done.
    case canceled
    /// The call is as before.
    case failed(BridgeError)
}
