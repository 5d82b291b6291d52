import BTCallAPI
import ControlLoop
import DBus

/// Audio under external call control: with manual audio, btcalld opens no device for a call until the session is activated.
public final class Session: Sendable {
    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Gives calls their audio until the hold is released. Several programs may hold the session; it is active while one
    /// does.
    public func activate() async throws(BridgeError) -> Hold {
        let member = BTCallName.Session.activate
        let answer = try await connection.request(
            BTCallPath.session, BTCallName.Interface.session, member, [.vardict([:])])
        return try Hold(answer, of: member)
    }

    /// Releases this connection's holds.
    ///
    /// - Throws: `.wrongState` when it has none.
    public func deactivate() async throws(BridgeError) {
        try await connection.request(
            BTCallPath.session, BTCallName.Interface.session, BTCallName.Session.deactivate)
    }

    public func isActive() async throws(BridgeError) -> Bool { try await flag(BTCallName.Session.active) }

    /// Whether calls get audio only while the session is active: the setting `routing.manualAudio`.
    public func isManual() async throws(BridgeError) -> Bool { try await flag(BTCallName.Session.manual) }

    /// Sets ``isManual()``. Kept over restarts.
    public func setManual(_ manual: Bool) async throws(BridgeError) {
        try await connection.setProperty(
            BTCallPath.session, BTCallName.Interface.session, BTCallName.Session.manual, .bool(manual))
    }

    private func flag(_ name: String) async throws(BridgeError) -> Bool {
        let fields = try await connection.property(BTCallPath.session, BTCallName.Interface.session, name)
        return try decoding { () throws(APIError) in try fields.bool(name) }
    }
}
