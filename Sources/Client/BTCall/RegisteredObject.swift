import BTCallAPI
import ControlLoop
import DBus

/// An object of this program that the daemon calls. It stays registered until `end`, also over restarts of the daemon.
@ControlPlane
final class RegisteredObject {
    /// The place of registration at the daemon.
    struct Registry {
        let path: String
        let interface: String
        let register: String
        let unregister: String
    }

    typealias Handler = @ControlPlane (MethodCall) async throws(BusError) -> [Value]

    private let connection: BridgeConnection
    private let path: String
    private let registry: Registry
    private var presence: Subscription?
    /// The daemon's own name on the bus while registered with it; calls from others are refused.
    private var daemon: String?

    init(_ connection: BridgeConnection, with registry: Registry) {
        self.connection = connection
        path = connection.nextObjectPath()
        self.registry = registry
    }

    /// - Parameter interface: the interface to export; `method(_:in:out:_:)` makes its methods.
    /// - Throws: the daemon's refusal; nothing is exported then.
    func start(_ interface: ExportedInterface) async throws(BridgeError) {
        connection.connection.export([interface], at: path)
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
        try await call(registry.unregister)
    }

    /// Makes a method that only the daemon may call.
    func method(
        _ name: String, in arguments: [(String, String)], out results: [(String, String)], _ handler: @escaping Handler
    ) -> ExportedInterface.Method {
        // The connection keeps the object until `end`, even without other references.
        .init(name, in: arguments, out: results) { [self] call async throws(BusError) in
            guard let daemon, call.sender == daemon else {
                throw BusError.accessDenied("\(call.sender) is not the owner of \(BTCallName.bus)")
            }
            return try await handler(call)
        }
    }

    private func register() async throws(BridgeError) {
        // A request to the daemon also starts it, where the bus can do that.
        _ = try await connection.properties(BTCallPath.manager, BTCallName.Interface.manager)
        do {
            daemon = try await connection.connection.owner(of: BTCallName.bus)
        } catch {
            throw BridgeError(error, on: connection.bus)
        }
        try await call(registry.register)
    }

    private func call(_ member: String) async throws(BridgeError) {
        try await connection.request(registry.path, registry.interface, member, [.objectPath(path)])
    }

    private func ownerChanged(_ owner: String?) {
        guard owner != daemon else { return }
        daemon = nil
        guard owner != nil else { return }
        Task { @ControlPlane in
            // A daemon that refuses has another program registered instead.
            try? await register()
        }
    }
}
