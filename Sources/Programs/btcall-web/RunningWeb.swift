import BTCall
import ControlLoop
import Glibc
import Logging
import ProgramSettings

/// The server with its sockets and its connection to the bus.
@ControlPlane
final class RunningWeb {
    /// The group whose members have all scopes on the Unix socket.
    private static let group = "btcall"

    let service: WebService
    private let server: WebServer
    private let bridge: CallBridge
    /// Paths of Unix sockets that were opened here.
    private var paths: [String] = []
    /// The port on TCP; 0 without one.
    private(set) var port: UInt16 = 0
    /// Whether the service manager listens while the program does not run.
    private let isActivated: Bool
    private var idle: IdleEnd?

    /// - Parameter passed: listening sockets of the service manager; without any, those of the settings are opened.
    /// - Throws: ``SettingsError`` or `BridgeError`, with what to do.
    init(_ settings: WebSettings, passed: [Int32] = ListeningSockets.passed(), logger: Logger) async throws {
        let keys = try KeyFiles.read(settings)
        bridge = try await CallBridge(bus: settings.bus)
        service = WebService(bridge: bridge, settings: settings, keys: keys, logger: logger)
        server = WebServer(
            service, limits: settings.limits, localGroup: Self.number(ofGroup: Self.group), logger: logger)
        isActivated = !passed.isEmpty
        for descriptor in passed { try serve(descriptor, "a socket of the service manager", logger) }
        if passed.isEmpty { try openSockets(settings, logger) }
        if keys == nil { logger.notice("no keys of tokens: only the Unix socket gives access beyond files") }
    }

    private func openSockets(_ settings: WebSettings, _ logger: Logger) throws {
        if let address = settings.listen {
            let descriptor = try Self.opening("[web] listen = \(address)") { () throws(SystemError) in
                try ListeningSockets.open(address)
            }
            port = ListeningSockets.port(of: descriptor)
            try serve(descriptor, "http://\(ListenAddress(address: address.address, port: port))", logger)
        }
        if let path = settings.socket {
            let descriptor = try Self.opening("[web] socket = \(path)") { () throws(SystemError) in
                try ListeningSockets.open(path: path)
            }
            paths.append(path)
            try serve(descriptor, path, logger)
        }
    }

    private static func opening(
        _ what: String, _ body: () throws(SystemError) -> Int32
    ) throws(SettingsError) -> Int32 {
        do throws(SystemError) {
            return try body()
        } catch {
            throw SettingsError("\(what) cannot be opened: \(error)")
        }
    }

    private func serve(_ descriptor: Int32, _ what: String, _ logger: Logger) throws {
        try server.serve(descriptor)
        logger.info("listening: \(what)")
    }

    var streamCount: Int { server.streamCount }

    /// Calls `end` once nobody has been connected for a while and no page's registration or pushed call is kept. Never
    /// without the sockets of a service manager: nobody could connect afterwards.
    func whenIdle(for time: Duration = IdleEnd.usualTime, _ end: @escaping @ControlPlane () -> Void) {
        guard isActivated else { return }
        let idle = IdleEnd(
            after: time,
            isUnused: { [server, service] in
                server.isUnused && service.providers.providers.isEmpty
            }, end)
        server.onChange = { idle.changed() }
        service.providers.onChange = { idle.changed() }
        self.idle = idle
    }

    func stop() async {
        await server.stop()
        for path in paths { unlink(path) }
        await bridge.close()
    }

    private static func number(ofGroup name: String) -> UInt32? {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 4096) { buffer in
            var entry = GroupEntry()
            var found: UnsafeMutablePointer<GroupEntry>?
            guard let start = buffer.baseAddress, getgrnam_r(name, &entry, start, buffer.count, &found) == 0,
                found != nil
            else { return nil }
            return entry.gr_gid
        }
    }
}

/// The C structure; the class has a property of the same name.
private typealias GroupEntry = Glibc.group
