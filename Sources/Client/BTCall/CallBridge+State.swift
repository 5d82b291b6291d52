import BTCallAPI
import ControlLoop
import DBus

extension CallBridge {
    /// State of the bridge: `inactive`, `activating`, `active` or `deactivating`.
    public typealias State = BridgeStatus.State

    /// The present state.
    ///
    /// - Throws: `.notRunning` without btcalld.
    public var state: State {
        get async throws(BridgeError) {
            let name = BTCallName.Manager.state
            let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.manager, name)
            return try decoding { () throws(APIError) in
                State(try fields.word(name, of: ManagerDescription.State.self))
            }
        }
    }

    /// The state: the present one first, then each change in order; nil while btcalld is not on the bus.
    ///
    /// Each stream has its own copy of every value. A stream that is not read keeps the newest 64. It ends with ``close()``.
    public func states() async -> AsyncStream<State?> {
        let bridge = self
        return await connection.values(at: BTCallPath.manager, absent: .some(nil)) { _ throws(BridgeError) -> State? in
            try await bridge.state
        } change: { event -> State?? in
            if case .stateChanged(let state) = event { .some(state) } else { nil }
        }
    }
}
