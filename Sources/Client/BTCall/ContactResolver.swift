import BTCallAPI
import ControlLoop
import DBus

extension CallBridge {
    /// Registers this program as a source of callers' names.
    ///
    /// - Parameter resolve: receives a number or an address with a scheme, and returns the name, at most 256 bytes; nil when
    ///   it is unknown. It is called on the bridge's own thread unless it belongs to an actor, and may be called again
    ///   before it has returned. An incoming call waits 500 ms for the name; a name that arrives later is shown when it
    ///   arrives.
    /// - Returns: an object that ends the registration; the connection ends it, too. It survives a restart of the daemon.
    /// - Throws: the daemon's refusal.
    public func resolveContacts(
        _ resolve: @escaping @Sendable (_ number: String) async -> String?
    ) async throws(BridgeError) -> ContactResolution {
        let connection = connection
        let object = try await connection.registerContacts { object in
            [
                object.method(
                    BTCallName.ContactResolver.resolve, in: [("number", "s")], out: [("name", "s")]
                ) { call async throws(BusError) in
                    [.string(await resolve(call.arguments[0].stringValue ?? "") ?? "")]
                }
            ]
        }
        return ContactResolution(object)
    }
}

/// A program's registration as a source of callers' names.
public final class ContactResolution: Sendable {
    private let object: RegisteredObject

    init(_ object: RegisteredObject) { self.object = object }

    /// Ends the registration: the daemon no longer asks this program.
    public func end() async throws(BridgeError) { try await object.end() }
}

extension BridgeConnection {
    /// Registers the object that the daemon calls: `org.btcall.ContactResolver1`.
    func registerContacts(
        _ methods: @ControlPlane (RegisteredObject) -> [ExportedInterface.Method]
    ) async throws(BridgeError) -> RegisteredObject {
        typealias Name = BTCallName.Calls
        let object = RegisteredObject(
            self,
            with: .init(
                path: BTCallPath.calls, interface: BTCallName.Interface.calls,
                register: Name.registerContactResolver, unregister: Name.unregisterContactResolver))
        try await object.start(
            ExportedInterface(BTCallName.Interface.contactResolver, methods: methods(object)))
        return object
    }
}
