package import BluetoothTypes
package import ControlLoop
package import DBus
package import Logging

/// The agent that answers bluetoothd's questions about pairing (`org.bluez.Agent1`), for a box without display and keys
/// (`NoInputNoOutput`).
///
/// It is registered, as the default agent, from `register()` to `unregister()`. bluetoothd forgets it when bluetoothd leaves
/// the bus. Calls from other programs are refused. Everything happens on the control loop.
@ControlPlane
package final class PairingAgent {
    private static let capability = "NoInputNoOutput"
    private static let callTimeout = Duration.seconds(5)

    /// Decides on a request; without it every request is rejected.
    package var onRequest: (@ControlPlane (BluetoothAddress, PairingRequest) -> PairingAnswer)?
    /// The device or bluetoothd has cancelled the request.
    package var onCancelled: (@ControlPlane () -> Void)?
    package private(set) var isRegistered = false

    private let bus: BusConnection
    private let logger: Logger
    private let path: String
    private var owner: String?
    private var subscription: Subscription?

    package init(
        bus: BusConnection, logger: Logger = Logger(label: "btcall.bluez"), path: String = "/org/btcall/agent"
    ) {
        self.bus = bus
        self.logger = logger
        self.path = path
        subscription = bus.watchName(BlueZNames.service) { [weak self] in self?.ownerChanged($0) }
    }

    isolated deinit { subscription?.cancel() }

    /// Makes bluetoothd ask this agent, before any other. A repeated call does nothing.
    package func register() async throws(PairingError) {
        guard let owner else { throw .serviceAbsent }
        guard !isRegistered else { return }
        bus.export([interface()], at: path)
        do throws(BusError) {
            do throws(BusError) {
                try await call(owner, "RegisterAgent", [.objectPath(path), .string(Self.capability)])
            } catch {
                // An earlier attempt that timed out here has succeeded: the agent is ours, under this path.
                guard error.hasName(BlueZNames.errorPrefix + "AlreadyExists") else { throw error }
            }
            try await call(owner, "RequestDefaultAgent", [.objectPath(path)])
        } catch {
            withdraw(from: owner)
            throw PairingError(error)
        }
        // bluetoothd may have left meanwhile, and a new one may have come.
        guard self.owner == owner else {
            bus.unexport(path: path)
            throw .serviceAbsent
        }
        isRegistered = true
    }

    /// Returns bluetoothd to the previous agent, or to none; returns when bluetoothd has answered, or after five seconds.
    package func unregister() async {
        guard isRegistered, let owner else { return }
        isRegistered = false
        bus.unexport(path: path)
        do throws(BusError) {
            try await call(owner, "UnregisterAgent", [.objectPath(path)])
        } catch {
            logger.debug("bluetoothd did not unregister the agent: \(error)")
        }
    }

    private func withdraw(from owner: String) {
        bus.unexport(path: path)
        bus.post(
            owner, BlueZNames.managerPath, BlueZNames.agentManager, "UnregisterAgent", [.objectPath(path)])
    }

    private func call(_ owner: String, _ member: String, _ arguments: [Value]) async throws(BusError) {
        _ = try await bus.call(
            owner, BlueZNames.managerPath, BlueZNames.agentManager, member, arguments, timeout: Self.callTimeout)
    }

    private func ownerChanged(_ owner: String?) {
        self.owner = owner
        guard isRegistered else { return }
        isRegistered = false
        bus.unexport(path: path)
    }

    // MARK: Requests of bluetoothd

    private func interface() -> ExportedInterface {
        typealias Arguments = [(name: String, signature: String)]
        func method(
            _ name: String, _ arguments: Arguments, _ request: @escaping @ControlPlane (MethodCall) -> PairingRequest
        ) -> ExportedInterface.Method {
            .init(name, in: [("device", "o")] + arguments) { [weak self] call throws(BusError) in
                _ = try self?.answer(call, request(call))
                return []
            }
        }
        return ExportedInterface(
            BlueZNames.agent,
            methods: [
                .init("Release") { [weak self] call throws(BusError) in
                    try self?.check(call)
                    self?.released()
                    return []
                },
                .init("RequestPinCode", in: [("device", "o")], out: [("pincode", "s")]) {
                    [weak self] call throws(BusError) in
                    guard let self, case .pin(let pin) = try answer(call, .pin) else { throw Self.rejected("no PIN") }
                    return [.string(pin)]
                },
                // The box has no keys to type a passkey, whichever device pairs.
                .init("RequestPasskey", in: [("device", "o")], out: [("passkey", "u")]) {
                    [weak self] call throws(BusError) in
                    _ = try self?.answer(call, .passkey)
                    throw Self.rejected("there are no keys here")
                },
                method("DisplayPinCode", [("pincode", "s")]) { .display($0.arguments.last?.stringValue ?? "") },
                method("DisplayPasskey", [("passkey", "u"), ("entered", "q")]) { call in
                    .display(Self.digits(call.arguments.dropFirst().first))
                },
                method("RequestConfirmation", [("passkey", "u")]) {
                    .confirmation($0.arguments.last?.uint32Value ?? 0)
                },
                method("RequestAuthorization", []) { _ in .authorization },
                method("AuthorizeService", [("uuid", "s")]) {
                    .service(ServiceUUID(text: $0.arguments.last?.stringValue ?? ""))
                },
                .init("Cancel") { [weak self] call throws(BusError) in
                    try self?.check(call)
                    self?.onCancelled?()
                    return []
                },
            ])
    }

    private func check(_ call: MethodCall) throws(BusError) {
        guard call.sender == owner else {
            throw .accessDenied("only the owner of org.bluez may call \(call.member), not \(call.sender)")
        }
    }

    private func answer(_ call: MethodCall, _ request: PairingRequest) throws(BusError) -> PairingAnswer {
        try check(call)
        guard let address = call.arguments.first?.objectPathValue.flatMap({ BluetoothAddress(devicePath: $0) }) else {
            throw Self.rejected("\(call.member) names no device")
        }
        let answer = onRequest?(address, request) ?? .reject(reason: "nobody decides")
        if case .reject(let reason) = answer { throw Self.rejected(reason) }
        return answer
    }

    private func released() {
        guard isRegistered else { return }
        isRegistered = false
        bus.unexport(path: path)
    }

    private static func rejected(_ reason: String) -> BusError {
        BusError(name: BlueZNames.errorPrefix + "Rejected", message: reason)
    }

    /// Six digits, as people read them.
    private static func digits(_ value: Value?) -> String {
        let digits = String(value?.uint32Value ?? 0)
        return String(repeating: "0", count: max(0, 6 - digits.count)) + digits
    }
}
