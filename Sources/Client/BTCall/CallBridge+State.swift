import BTCallAPI
import ControlLoop
import DBus

extension CallBridge {
    /// Whether the bridge is at work: `inactive`, `activating`, `active` or `deactivating`.
    public typealias State = BridgeStatus.State

    /// What the bridge is doing now.
    ///
    /// - Throws: `.notRunning` when there is no btcalld.
    public var state: State {
        get async throws(BridgeError) {
            let name = BTCallName.Manager.state
            let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.manager, name)
            return try decoding { () throws(APIError) in
                State(try fields.word(name, of: ManagerDescription.State.self))
            }
        }
    }

    /// The state, the present one first, then each change in its order; nil while btcalld is not on the bus.
    ///
    /// Each stream has its own copy of every value. One that is not read keeps the newest 64. It ends with ``close()``.
    public func states() async -> AsyncStream<State?> {
        let bridge = self
        return await connection.values(at: BTCallPath.manager, absent: .some(nil)) { _ throws(BridgeError) -> State? in
            try await bridge.state
        } change: { event -> State?? in
            if case .stateChanged(let state) = event { .some(state) } else { nil }
        }
    }
}
