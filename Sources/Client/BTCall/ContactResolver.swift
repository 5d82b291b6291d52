import BTCallAPI
import ControlLoop
import DBus

extension CallBridge {
    /// Makes this program one that knows the names of callers.
    ///
    /// - Parameter resolve: gets a number or an address with a scheme, and returns the name, 256 bytes at most; nil when it is not
    ///   known. It is called on the bridge's own thread unless it belongs to an actor, and may be called again before it has
    ///   returned. An incoming call waits 500 ms for it; a name that comes later is shown when it comes.
    /// - Returns: what ends it; it ends with the connection too. It lasts over a restart of the daemon.
    /// - Throws: what the daemon refuses with.
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

/// A program's place among those that know the names of callers.
public final class ContactResolution: Sendable {
    private let object: RegisteredObject

    init(_ object: RegisteredObject) { self.object = object }

    /// Nobody is asked by it any more.
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
