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
        let proxy = await ContactProxy(connection, resolve)
        try await proxy.start()
        return ContactResolution(proxy)
    }
}

/// A program's place among those that know the names of callers.
public final class ContactResolution: Sendable {
    private let proxy: ContactProxy

    init(_ proxy: ContactProxy) { self.proxy = proxy }

    /// Nobody is asked by it any more.
    public func end() async throws(BridgeError) { try await proxy.end() }
}

/// The object that the daemon calls: `org.btcall.ContactResolver1`.
@ControlPlane
final class ContactProxy {
    private let connection: BridgeConnection
    private let resolve: @Sendable (String) async -> String?
    private let path: String
    private var presence: Subscription?
    /// The daemon's own name on the bus while registered with it; others are refused.
    private var daemon: String?

    init(_ connection: BridgeConnection, _ resolve: @escaping @Sendable (String) async -> String?) {
        self.connection = connection
        self.resolve = resolve
        path = connection.nextContactPath()
    }

    func start() async throws(BridgeError) {
        connection.connection.export([interface()], at: path)
        do throws(BridgeError) {
            try await register()
        } catch {
            connection.connection.unexport(path: path)
            throw error
        }
        presence = connection.connection.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) }
    }

    func end() async throws(BridgeError) {
        presence?.cancel()
        presence = nil
        daemon = nil
        defer { connection.connection.unexport(path: path) }
        try await calls(BTCallName.Calls.unregisterContactResolver)
    }

    private func register() async throws(BridgeError) {
        // Asking the daemon anything first also starts it, where the bus can do that.
        _ = try await connection.properties(BTCallPath.manager, BTCallName.Interface.manager)
        do {
            daemon = try await connection.connection.owner(of: BTCallName.bus)
        } catch {
            throw BridgeError(error, on: connection.bus)
        }
        try await calls(BTCallName.Calls.registerContactResolver)
    }

    private func calls(_ member: String) async throws(BridgeError) {
        try await connection.request(BTCallPath.calls, BTCallName.Interface.calls, member, [.objectPath(path)])
    }

    private func ownerChanged(_ owner: String?) {
        guard owner != daemon else { return }
        daemon = nil
        guard owner != nil else { return }
        Task { @ControlPlane in
            // A daemon that refuses has eight others; the names are theirs then.
            try? await register()
        }
    }

    private func interface() -> ExportedInterface {
        ExportedInterface(
            BTCallName.Interface.contactResolver,
            methods: [
                .init(BTCallName.ContactResolver.resolve, in: [("number", "s")], out: [("name", "s")]) {
                    [weak self] call async throws(BusError) in
                    guard let self, let daemon, call.sender == daemon else {
                        throw BusError.accessDenied("\(call.sender) is not the owner of \(BTCallName.bus)")
                    }
                    return [.string(await resolve(call.arguments[0].stringValue ?? "") ?? "")]
                }
            ])
    }
}
