import BTCallAPI
import ControlLoop
import DBus

/// The connection to the daemon: its signals, and requests whose errors it puts into words.
@ControlPlane
final class BridgeConnection {
    let bus: BridgeBus
    let connection: BusConnection
    /// The streams handed out, so that closing ends them.
    private var streams: [any StreamSource] = []
    /// The daemon's part of the log, while the program receives the log.
    private(set) lazy var log = LogFollower(on: self)
    /// Audio that this program adds to the microphone block by block.
    private(set) lazy var appAudio = AppAudioStreams(on: self)
    /// Manual rendering that this program asks for.
    private(set) lazy var manualMode = ManualMode(on: self)
    private var providers = 0
    private var objects = 0

    init(_ bus: BridgeBus) throws(BridgeError) {
        self.bus = bus
        do {
            connection = try BusConnection(bus.busAddress)
        } catch {
            throw BridgeError(connecting: error, to: bus)
        }
    }

    func close() {
        log.stop()
        manualMode.end()
        appAudio.stop()
        for stream in streams {
            stream.cancel()
        }
        streams = []
        connection.close()
    }

    func add(_ source: any StreamSource) {
        streams.removeAll { $0.isCancelled }
        streams.append(source)
    }

    /// Calls a method of the daemon.
    @discardableResult
    func request(
        _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = [],
        timeout: Duration = .seconds(25)
    ) async throws(BridgeError) -> [Value] {
        do {
            return try await connection.call(BTCallName.bus, path, interface, member, arguments, timeout: timeout)
        } catch {
            throw BridgeError(error, on: bus)
        }
    }

    /// All properties of one interface of an object.
    func properties(_ path: String, _ interface: String) async throws(BridgeError) -> Fields {
        let reply = try await request(path, Self.properties, "GetAll", [.string(interface)])
        return try fields(reply.first, of: interface)
    }

    func property(_ path: String, _ interface: String, _ name: String) async throws(BridgeError) -> Fields {
        let reply = try await request(path, Self.properties, "Get", [.string(interface), .string(name)])
        guard let value = reply.first else {
            throw BridgeError(.failed, "btcalld answered nothing when asked for \(name)")
        }
        return Fields([name: value.unwrapped], of: interface)
    }

    func isTrue(_ path: String, _ interface: String, _ name: String) async throws(BridgeError) -> Bool {
        let fields = try await property(path, interface, name)
        return try decoding { () throws(APIError) in try fields.bool(name) }
    }

    func setProperty(_ path: String, _ interface: String, _ name: String, _ value: Value) async throws(BridgeError) {
        try await request(path, Self.properties, "Set", [.string(interface), .string(name), .variant(value)])
    }

    /// The properties of every object by path and interface, in one request.
    func managedObjects() async throws(BridgeError) -> [String: [String: Fields]] {
        let reply = try await request(BTCallPath.manager, Self.objectManager, "GetManagedObjects")
        var objects: [String: [String: Fields]] = [:]
        for object in reply.first?.entries ?? [] {
            guard let path = object.key.stringValue else { continue }
            for interface in object.value.entries ?? [] {
                guard let name = interface.key.stringValue else { continue }
                objects[path, default: [:]][name] = try fields(interface.value, of: name)
            }
        }
        return objects
    }

    /// A path without an exported provider on this connection.
    func nextProviderPath() -> String {
        providers += 1
        return "/org/btcall/client/provider\(providers)"
    }

    /// A path without a registered object on this connection.
    func nextObjectPath() -> String {
        objects += 1
        return "/org/btcall/client/object\(objects)"
    }

    func fields(_ value: Value?, of subject: String) throws(BridgeError) -> Fields {
        guard let value else { throw BridgeError(.failed, "btcalld answered nothing when asked for \(subject)") }
        do {
            return try Fields(value, of: subject)
        } catch {
            throw BridgeError(decoding: error)
        }
    }

    private static let properties = "org.freedesktop.DBus.Properties"
    private static let objectManager = "org.freedesktop.DBus.ObjectManager"
}

/// Decodes an answer from the daemon.
func decoding<Result>(_ body: () throws(APIError) -> Result) throws(BridgeError) -> Result {
    do {
        return try body()
    } catch {
        throw BridgeError(decoding: error)
    }
}
