import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus

/// Pairing headsets without a screen: during a limited window, btcalld pairs, trusts and connects an allowed headset.
///
/// During a call btcalld neither searches nor pages, unless the window was opened with `search`; a headset that begins the
/// pairing itself is accepted. Everything may be called from any thread.
public final class Pairing: Sendable {
    /// Default length of a window in seconds.
    public static let usualSeconds = 120

    public enum State: String, Sendable, CaseIterable {
        case closed
        /// Waiting for a device.
        case open
        /// Pairing, trusting and connecting a device.
        case pairing
    }

    /// A device found by a search.
    public struct Device: Hashable, Sendable {
        /// `AA:BB:CC:DD:EE:FF`
        public let address: String
        /// The device's own name; nil when it has not sent one yet.
        public let name: String?
        /// Received signal strength in dBm.
        public let rssi: Int
        /// Of `HFP`, `HSP`, `A2DP`; also empty while the device has not sent them.
        public let profiles: [String]

        public init(address: String, name: String?, rssi: Int, profiles: [String]) {
            self.address = address
            self.name = name
            self.rssi = rssi
            self.profiles = profiles
        }
    }

    /// Outcome of a window.
    public struct Result: Hashable, Sendable {
        public enum Outcome: String, Sendable, CaseIterable {
            /// A device is paired and trusted; the reason says so when it is not connected.
            case paired
            /// No device came, or none could be paired.
            case timedOut
            /// Somebody closed it.
            case cancelled
            /// An error ended it.
            case failed
        }

        /// Nil when no particular device is concerned.
        public let address: String?
        public let outcome: Outcome
        /// For people; may be empty.
        public let reason: String

        public init(address: String?, outcome: Outcome, reason: String) {
            self.address = address
            self.outcome = outcome
            self.reason = reason
        }
    }

    public enum Event: Hashable, Sendable {
        /// Sent once for each device and search, and again when the device has sent more about itself.
        case found(Device)
        case stateChanged(State)
        case finished(Result)
        /// btcalld has left the bus; a window, if any, is closed.
        case daemonVanished
    }

    let connection: BridgeConnection

    init(connection: BridgeConnection) {
        self.connection = connection
    }

    /// Opens a window; returns when bluetoothd has agreed. Start listening to ``events()`` before.
    ///
    /// - Parameters:
    ///   - seconds: 1 to 600.
    ///   - allowing: addresses, and name patterns in which `*` stands for any characters and `?` for one; empty: any audio
    ///     device.
    ///   - pin: for headsets without Secure Simple Pairing, 1 to 16 characters.
    ///   - search: whether to search and page during a call too. That may cost the call audio, up to 5 s at a time when a
    ///     device does not answer.
    /// - Throws: `.wrongState` while a window is open, `.unavailable` without bluetoothd or adapter.
    public func open(
        seconds: Int = usualSeconds, allowing: [String] = [], pin: String? = nil, search: Bool = false
    ) async throws(BridgeError) {
        let options = PairingOptions(allow: allowing, pin: pin, search: search)
        try await request(BTCallName.Pairing.open, [.uint32(UInt32(clamping: seconds)), .vardict(options.values)])
    }

    /// Closes the window and gives up a pairing in progress.
    ///
    /// - Throws: `.wrongState` when none is open.
    public func close() async throws(BridgeError) {
        try await request(BTCallName.Pairing.close)
    }

    /// Searches for devices; each one found is an ``Event/found(_:)``.
    ///
    /// - Parameter seconds: 1 to 600.
    /// - Throws: `.callsActive` during a call, `.unavailable` without bluetoothd or adapter.
    public func scan(seconds: Int) async throws(BridgeError) {
        try await request(BTCallName.Pairing.scan, [.uint32(UInt32(clamping: seconds))])
    }

    /// Sets whether a paired device may connect on its own.
    public func trust(_ address: String, _ isTrusted: Bool = true) async throws(BridgeError) {
        try await request(BTCallName.Pairing.trust, [.string(address), .bool(isTrusted)])
    }

    /// Removes the bond with a device and disconnects it.
    public func forget(_ address: String) async throws(BridgeError) {
        try await request(BTCallName.Pairing.forget, [.string(address)])
    }

    public func state() async throws(BridgeError) -> State {
        let name = BTCallName.Pairing.state
        let fields = try await connection.property(BTCallPath.manager, BTCallName.Interface.pairing, name)
        return try decoding { () throws(APIError) in
            State(rawValue: try fields.word(name, of: PairingState.self).rawValue) ?? .closed
        }
    }

    /// Whether btcalld is searching for devices now. With an open window it pauses during a call, while a voice link is set
    /// up, and while a device is being paired.
    public func isSearching() async throws(BridgeError) -> Bool {
        try await connection.isTrue(
            BTCallPath.manager, BTCallName.Interface.pairing, BTCallName.Pairing.searching)
    }

    /// Events from now on. A stream that is not read keeps the newest 1024.
    public func events() async -> AsyncStream<Event> {
        await connection.pairingEvents()
    }

    private func request(_ member: String, _ arguments: [Value] = []) async throws(BridgeError) {
        try await connection.request(BTCallPath.manager, BTCallName.Interface.pairing, member, arguments)
    }
}

extension CallBridge {
    /// Pairing headsets without a screen.
    public var pairing: Pairing { Pairing(connection: connection) }
}

extension BridgeConnection {
    func pairingEvents() -> AsyncStream<Pairing.Event> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: Pairing.Event.self, bufferingPolicy: .bufferingNewest(1024))
        let source = PairingSource(on: connection, continuation)
        continuation.onTermination = { _ in
            Task { @ControlPlane in source.cancel() }
        }
        add(source)
        return stream
    }
}

/// A source of a stream of pairing events.
@ControlPlane
private final class PairingSource: StreamSource {
    private let continuation: AsyncStream<Pairing.Event>.Continuation
    private var subscriptions: [Subscription] = []
    private var wasPresent = false
    private(set) var isCancelled = false

    init(on bus: BusConnection, _ continuation: AsyncStream<Pairing.Event>.Continuation) {
        self.continuation = continuation
        subscriptions = [
            bus.watchName(BTCallName.bus) { [weak self] owner in self?.ownerChanged(owner) },
            bus.subscribe(sender: BTCallName.bus, path: BTCallPath.manager) { [weak self] in self?.received($0) },
        ]
    }

    func cancel() {
        guard !isCancelled else { return }
        isCancelled = true
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
        continuation.finish()
    }

    private func ownerChanged(_ owner: String?) {
        if owner == nil, wasPresent { continuation.yield(.daemonVanished) }
        wasPresent = owner != nil
    }

    private func received(_ signal: BusSignal) {
        let arguments = signal.arguments
        let texts = arguments.map { $0.stringValue ?? "" }
        switch (signal.interface, signal.member) {
        case (BTCallName.Interface.pairing, BTCallName.Pairing.deviceFound):
            guard arguments.count >= 4, let rssi = arguments[2].integerValue else { return }
            continuation.yield(
                .found(
                    Pairing.Device(
                        address: texts[0], name: texts[1].nonEmpty, rssi: rssi,
                        profiles: arguments[3].stringsValue ?? [])))
        case (BTCallName.Interface.pairing, BTCallName.Pairing.finished):
            guard arguments.count >= 3, let outcome = Pairing.Result.Outcome(rawValue: texts[1]) else { return }
            continuation.yield(
                .finished(Pairing.Result(address: texts[0].nonEmpty, outcome: outcome, reason: texts[2])))
        case ("org.freedesktop.DBus.Properties", "PropertiesChanged"):
            guard arguments.count >= 2, texts[0] == BTCallName.Interface.pairing,
                let state = arguments[1].vardictValue?[BTCallName.Pairing.state]?.stringValue
                    .flatMap(Pairing.State.init(rawValue:))
            else { return }
            continuation.yield(.stateChanged(state))
        default: return
        }
    }
}
