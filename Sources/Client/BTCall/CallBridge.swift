import BTCallAPI
import ControlLoop
import DBus

/// A connection to btcalld: its devices, its calls, and registration as a telephony application.
///
/// Everything may be called from any thread or actor; the work is done on one thread of its own. The connection outlives a
/// restart of the daemon and of the bus: requests fail meanwhile, event streams report it and continue.
public final class CallBridge: Sendable {
    /// Selection of the device that carries the calls.
    public let audioDeviceManager: AudioDeviceManager
    /// The calls of the box, of all applications.
    public let calls: Calls
    /// Audio under external call control.
    public let session: Session
    /// Audio that the far end hears in addition to the microphone.
    public let audio: BridgeAudio
    let connection: BridgeConnection

    /// - Throws: `.noBus` when the bus cannot be reached. An absent daemon only shows with the first request.
    public init(bus: BridgeBus = .system) async throws(BridgeError) {
        connection = try await BridgeConnection(bus)
        audioDeviceManager = AudioDeviceManager(connection: connection)
        calls = Calls(connection: connection)
        session = Session(connection: connection)
        audio = BridgeAudio(connection: connection)
        await connection.log.start()
    }

    /// Closes the connection: it unregisters its providers and ends its event streams.
    public func close() async {
        await connection.close()
    }

    /// Registers the Bluetooth profiles and accepts providers; returns when the bridge is active, at once when it already
    /// was.
    ///
    /// The daemon activates itself unless configured otherwise. Activating and deactivating may be repeated at will.
    ///
    /// - Throws: `.wrongState` when the bridge is deactivated meanwhile, so that it is inactive; `.notRunning` without
    ///   btcalld.
    public func activate() async throws(BridgeError) {
        try await connection.request(BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.activate)
    }

    /// Ends all calls, releases the providers and unregisters the profiles; returns when the bridge is inactive. btcalld
    /// keeps running; pairings and settings stay.
    ///
    /// - Throws: `.notRunning` without btcalld.
    public func deactivate() async throws(BridgeError) {
        try await connection.request(BTCallPath.manager, BTCallName.Interface.manager, BTCallName.Manager.deactivate)
    }

    /// A snapshot of the whole bridge.
    public func status() async throws(BridgeError) -> BridgeStatus {
        try await connection.status()
    }

    /// Events from now on: the daemon's presence first, then the present calls.
    ///
    /// Each stream has its own copy of every event. A stream that is not read keeps the newest 1024.
    public func events() async -> AsyncStream<BridgeEvent> {
        await connection.events()
    }

    /// Registers this program as a telephony application: it can report calls, and receives requests to answer and end them.
    ///
    /// - Throws: the daemon's refusal.
    public func register(_ provider: some CallProvider, as description: CallProviderDescription)
        async throws(BridgeError) -> ProviderRegistration
    {
        try await ProviderRegistration(provider, as: description, on: connection)
    }
}

extension BridgeConnection {
    func status() async throws(BridgeError) -> BridgeStatus {
        let manager = try await properties(BTCallPath.manager, BTCallName.Interface.manager)
        let objects = try await managedObjects()
        guard let router = objects[BTCallPath.router]?[BTCallName.Interface.router] else {
            throw BridgeError(.failed, "btcalld has no \(BTCallPath.router) yet: try again")
        }
        return try decoding { () throws(APIError) in
            let group = objects[BTCallPath.calls]?[BTCallName.Interface.calls]
            let audio = objects[BTCallPath.audio]?[BTCallName.Interface.audio]
            return BridgeStatus(
                manager: try ManagerDescription(manager), router: try RouterState(router),
                isMuted: try group?.optionalBool(BTCallName.Calls.muted) ?? false,
                isMicrophoneEnabled: try audio?.optionalBool(BTCallName.Audio.microphoneEnabled) ?? true,
                calls: try calls(in: objects, order: try group?.strings(BTCallName.Calls.calls) ?? []))
        }
    }

    /// The calls in order of appearance.
    func callList() async throws(BridgeError) -> [Call] {
        let objects = try await managedObjects()
        return try decoding { () throws(APIError) in
            let group = objects[BTCallPath.calls]?[BTCallName.Interface.calls]
            return try calls(in: objects, order: try group?.strings(BTCallName.Calls.calls) ?? [])
        }
    }

    private func calls(in objects: [String: [String: Fields]], order: [String]) throws(APIError) -> [Call] {
        var calls: [Call] = []
        for path in order {
            guard let fields = objects[path]?[BTCallName.Interface.call] else { continue }
            calls.append(Call(try CallDescription(fields)))
        }
        return calls
    }
}
