package import BluetoothTypes
package import ControlLoop
package import DBus
import Glibc
package import Logging

/// Keeps one profile registered with bluetoothd and receives its connections (`org.bluez.ProfileManager1`,
/// `org.bluez.Profile1`).
///
/// Registers again whenever bluetoothd or the bus comes back. While another program has the UUID it names the likely
/// program, and retries a second after that program leaves and at intervals. Works for any role and UUID.
@ControlPlane
package final class ProfileRegistration {
    package enum State: Equatable, Sendable {
        case stopped
        /// bluetoothd is not on the bus, or has not answered yet.
        case waitingForService
        case registered
        /// Not registered; retried automatically.
        case refused(Refusal)
    }

    private enum Phase {
        case stopped
        case absent
        case registering(owner: String, attempt: Int)
        case registered(owner: String)
        /// Not registered; retried when the timer fires or a rival leaves.
        case pausing(owner: String, attempt: Int, retry: Timer, rivals: [Subscription])
    }

    private static let callTimeout = Duration.seconds(10)
    private static let unregisterTimeout = Duration.seconds(2)
    /// From a rival's end to our registration. bluetoothd 5.87 crashes at the headset's next connection when it is asked while
    /// it still takes the rival's profiles away: `ext_confirm` uses the listening socket's freed data.
    private static let pauseAfterRival = Duration.seconds(1)

    package let configuration: Configuration
    package private(set) var state = State.stopped {
        didSet { if state != oldValue { onState?(state) } }
    }
    package var onState: (@ControlPlane (State) -> Void)?
    /// A device's RFCOMM connection is up. The properties are those that BlueZ found in the device's service record:
    /// `Version` and `Features`, both uint16, if any. A receiver that does not keep the descriptor closes the connection;
    /// one that throws has bluetoothd close it.
    package var onConnection:
        (
            @ControlPlane (
                _ device: BluetoothAddress, _ devicePath: String, _ descriptor: PassedDescriptor,
                _ properties: [String: Value]
            ) throws(ConnectionRefusal) -> Void
        )?
    /// bluetoothd wants the connection to this device closed, because a user disconnected it. Not sent on a lost link.
    package var onDisconnectionRequest: (@ControlPlane (BluetoothAddress) -> Void)?

    private let bus: BusConnection
    private let logger: Logger
    private var phase = Phase.stopped
    private var service: Subscription?
    private var attempts = 0

    package init(
        bus: BusConnection, configuration: Configuration, logger: Logger = Logger(label: "btcall.bluez")
    ) {
        self.bus = bus
        self.configuration = configuration
        self.logger = logger
    }

    isolated deinit {
        service?.cancel()
        leavePhase()
    }

    /// Exports the profile's object and registers it as soon as bluetoothd is on the bus.
    package func start() {
        guard case .stopped = phase else { return }
        phase = .absent
        bus.export([profileInterface()], at: configuration.path)
        state = .waitingForService
        service = bus.watchName(BlueZNames.service) { [weak self] in self?.ownerChanged($0) }
    }

    /// Withdraws the profile; connections that were handed over stay open. Returns when bluetoothd has answered, or after
    /// two seconds.
    package func stop() async {
        guard let owner = leavePhase() else { return }
        service?.cancel()
        service = nil
        phase = .stopped
        state = .stopped
        bus.unexport(path: configuration.path)
        guard !owner.isEmpty else { return }
        do throws(BusError) {
            _ = try await bus.call(
                owner, BlueZNames.managerPath, BlueZNames.profileManager, "UnregisterProfile",
                [.objectPath(configuration.path)], timeout: Self.unregisterTimeout)
        } catch {
            // bluetoothd drops the profile when we leave the bus.
            logger.debug("bluetoothd did not unregister \(configuration.name): \(error)")
        }
    }

    /// Ends the pending work of the present phase.
    ///
    /// - Returns: the owner of `org.bluez` that may know our profile; empty without one, nil when stopped.
    @discardableResult
    private func leavePhase() -> String? {
        switch phase {
        case .stopped: return nil
        case .absent: return ""
        case .registering(let owner, _), .registered(let owner): return owner
        case .pausing(_, _, let retry, let rivals):
            retry.cancel()
            for rival in rivals { rival.cancel() }
            return ""
        }
    }

    private func ownerChanged(_ owner: String?) {
        guard leavePhase() != nil else { return }
        phase = .absent
        if let owner {
            register(with: owner)
        } else {
            state = .waitingForService
        }
    }

    private func register(with owner: String) {
        attempts += 1
        let attempt = attempts
        leavePhase()
        phase = .registering(owner: owner, attempt: attempt)
        // BlueZ 5.66 compares UUIDs as text: beside a program that wrote it in capitals (BlueALSA does) our registration
        // would succeed, but without a channel that a headset could connect to. Our own record does not exist yet.
        bus.send(
            owner, "/", BlueZNames.objectManager, "GetManagedObjects", timeout: Self.callTimeout
        ) { [weak self] in self?.listed($0, for: attempt) }
    }

    private func listed(_ result: Result<[Value], BusError>, for expected: Int) {
        guard case .registering(let owner, let attempt) = phase, attempt == expected else { return }
        var mirror = ObjectMirror()
        // Without an answer the registration itself shows what is wrong.
        if case .success(let values) = result, let objects = values.first { _ = mirror.replace(with: objects) }
        let isTaken = mirror.objects.values.contains { interfaces in
            let uuids = interfaces[BlueZNames.adapter]?["UUIDs"]?.stringsValue ?? []
            return uuids.contains { ServiceUUID(text: $0) == configuration.uuid }
        }
        guard isTaken else { return callRegister(owner, attempt) }
        Task { @ControlPlane [weak self, bus] in
            let rivals = await BusPeer.search(bus)
            guard let self, case .registering(_, attempt) = phase else { return }
            // A record without a known rival may be a leftover: let bluetoothd decide.
            guard !rivals.isEmpty else { return callRegister(owner, attempt) }
            refused(.alreadyRegistered(rivals), attempt: attempt)
        }
    }

    private func callRegister(_ owner: String, _ attempt: Int) {
        bus.send(
            owner, BlueZNames.managerPath, BlueZNames.profileManager, "RegisterProfile",
            [.objectPath(configuration.path), .string(configuration.uuid.text), configuration.options],
            timeout: Self.callTimeout
        ) { [weak self] in self?.answered($0, to: attempt) }
    }

    private func answered(_ result: Result<[Value], BusError>, to expected: Int) {
        guard case .registering(let owner, let attempt) = phase, attempt == expected else { return }
        switch result {
        case .success:
            phase = .registered(owner: owner)
            logger.info("bluetoothd has registered \(configuration.name)")
            state = .registered
        case .failure(let error) where error.hasName(BlueZNames.errorPrefix + "AlreadyExists"):
            // An earlier attempt that timed out here has succeeded: the registration is ours, under this path.
            phase = .registered(owner: owner)
            logger.info("bluetoothd had registered \(configuration.name)")
            state = .registered
        case .failure(let error) where error.hasName(BlueZNames.errorPrefix + "NotPermitted"):
            Task { @ControlPlane [weak self, bus] in
                let rivals = await BusPeer.search(bus)
                self?.refused(.alreadyRegistered(rivals), attempt: expected)
            }
        case .failure(let error) where error.hasName(BusError.Name.accessDenied):
            refused(.notPermitted(error), attempt: expected)
        case .failure(let error):
            refused(.failed(error), attempt: expected)
        }
    }

    private func refused(_ cause: Refusal.Cause, attempt expected: Int) {
        guard case .registering(let owner, let attempt) = phase, attempt == expected else { return }
        let refusal = Refusal(configuration: configuration, cause: cause)
        let retry = self.retry(in: configuration.retryInterval, after: attempt)
        var rivals: [Subscription] = []
        if case .alreadyRegistered(let peers) = cause {
            rivals = peers.map { peer in
                bus.watchName(peer.uniqueName) { [weak self] owner in
                    if owner == nil { self?.rivalLeft(after: attempt) }
                }
            }
        }
        phase = .pausing(owner: owner, attempt: attempt, retry: retry, rivals: rivals)
        if state != .refused(refusal) { logger.warning("\(refusal)") }
        state = .refused(refusal)
    }

    private func rivalLeft(after expected: Int) {
        guard case .pausing(let owner, let attempt, let retry, let rivals) = phase, attempt == expected else { return }
        retry.cancel()
        let soon = self.retry(in: Self.pauseAfterRival, after: attempt)
        phase = .pausing(owner: owner, attempt: attempt, retry: soon, rivals: rivals)
    }

    private func retry(in pause: Duration, after attempt: Int) -> Timer {
        ControlLoop.shared.schedule(after: pause) { [weak self] in self?.tryAgain(after: attempt) }
    }

    private func tryAgain(after expected: Int) {
        guard case .pausing(let owner, let attempt, _, _) = phase, attempt == expected else { return }
        register(with: owner)
    }
}

// Methods that bluetoothd calls.
extension ProfileRegistration {
    private func profileInterface() -> ExportedInterface {
        ExportedInterface(
            BlueZNames.profile,
            methods: [
                .init("Release") { [weak self] call throws(BusError) in
                    try self?.checkSender(call)
                    self?.released()
                    return []
                },
                .init("NewConnection", in: [("device", "o"), ("descriptor", "h"), ("properties", "a{sv}")]) {
                    [weak self] call throws(BusError) in
                    try self?.newConnection(call)
                    return []
                },
                .init("RequestDisconnection", in: [("device", "o")]) { [weak self] call throws(BusError) in
                    try self?.disconnectionRequested(call)
                    return []
                },
            ])
    }

    private func checkSender(_ call: MethodCall) throws(BusError) {
        switch phase {
        case .registering(let owner, _) where call.sender == owner: return
        case .registered(let owner) where call.sender == owner: return
        case .pausing(let owner, _, _, _) where call.sender == owner: return
        case .registering, .registered, .pausing, .stopped, .absent:
            throw .accessDenied("only the owner of org.bluez may call \(call.member), not \(call.sender)")
        }
    }

    private func newConnection(_ call: MethodCall) throws(BusError) {
        try checkSender(call)
        let (path, address) = try device(of: call)
        guard call.arguments.count == 3, let descriptor = call.arguments[1].descriptorValue,
            let properties = call.arguments[2].vardictValue
        else { throw .invalidArguments("NewConnection takes a device, a descriptor and properties") }
        guard Self.isConnection(descriptor.descriptor) else {
            throw .invalidArguments(
                """
                NewConnection without a usable descriptor: it has to be a connected stream socket, and the daemon needs a \
                descriptor to spare (LimitNOFILE)
                """)
        }
        guard let onConnection else {
            throw BusError(name: BlueZNames.errorPrefix + "Rejected", message: "no handler for connections")
        }
        do throws(ConnectionRefusal) {
            try onConnection(address, path, descriptor, properties)
        } catch {
            logger.notice("\(address) has connected \(configuration.name) and is refused: \(error.reason)")
            throw BusError(name: BlueZNames.errorPrefix + "Rejected", message: error.reason)
        }
        logger.info("\(address) has connected \(configuration.name)")
    }

    /// Whether a descriptor is a stream socket that does not listen. It is -1 if no descriptor was free when the message
    /// arrived.
    private static func isConnection(_ descriptor: Int32) -> Bool {
        option(SO_TYPE, descriptor) == Int32(bitPattern: SOCK_STREAM.rawValue) && option(SO_ACCEPTCONN, descriptor) == 0
    }

    private static func option(_ name: Int32, _ descriptor: Int32) -> Int32? {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
    }

    private func disconnectionRequested(_ call: MethodCall) throws(BusError) {
        try checkSender(call)
        let (_, address) = try device(of: call)
        logger.info("bluetoothd asks to disconnect \(configuration.name) from \(address)")
        onDisconnectionRequest?(address)
    }

    private func device(of call: MethodCall) throws(BusError) -> (path: String, BluetoothAddress) {
        guard let path = call.arguments.first?.objectPathValue, let address = BluetoothAddress(devicePath: path) else {
            throw .invalidArguments("\(call.member): the object path does not end in a device's address")
        }
        return (path, address)
    }

    /// Handles a profile that bluetoothd has dropped: bluetoothd is about to leave, or somebody made it do so. In the first
    /// case its name goes away next; in the second the profile is registered again after a pause.
    private func released() {
        guard case .registered(let owner) = phase else { return }
        attempts += 1
        let attempt = attempts
        logger.info("bluetoothd has released \(configuration.name)")
        let retry = self.retry(in: configuration.retryInterval, after: attempt)
        phase = .pausing(owner: owner, attempt: attempt, retry: retry, rivals: [])
        state = .waitingForService
    }
}
