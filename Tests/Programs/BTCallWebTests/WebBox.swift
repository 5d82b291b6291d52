import BTCall
import CommandTestSupport
import ControlLoop
import Cryptography
import DBus
import Foundation
import JSONText
import Logging
import NIOHTTP1
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

/// The server in this process, before a simulated btcalld.
@ControlPlane
final class WebBox {
    static let secret = Array("0123456789abcdef0123456789abcdef".utf8)

    let bus: PrivateBus
    let daemon: FakeDaemon
    let web: RunningWeb
    let log = LogLines()
    /// Holds the Unix socket, keys and files.
    let folder: URL

    /// Runs a test with a server that listens on a port of its own and on a Unix socket.
    ///
    /// - Parameter isActivated: whether the port was opened by somebody else, as a service manager does; there is no Unix
    ///   socket then.
    static func run(
        _ changes: [WebSettings.Key: String] = [:], isActivated: Bool = false, body: (WebBox) async throws -> Void
    ) async throws {
        let box = try await WebBox(changes, isActivated: isActivated)
        let result: Result<Void, any Error>
        do {
            try await body(box)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await box.web.stop()
        box.daemon.bus.close()
        try? FileManager.default.removeItem(at: box.folder)  // A folder in the temporary directory may stay.
        try result.get()
    }

    private init(_ changes: [WebSettings.Key: String], isActivated: Bool) async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        folder = FileManager.default.temporaryDirectory.appending(path: "web-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: folder.appending(path: "files"), withIntermediateDirectories: true)
        for name in ["secret", "push"] {
            let file = folder.appending(path: name)
            try Data(Self.secret).write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file.path())
        }
        var settings = WebSettings()
        settings.listen = ListenAddress(address: "127.0.0.1", port: 0)
        settings.socket = folder.appending(path: "sock").path()
        settings.files = folder.appending(path: "files").path()
        settings.secret = folder.appending(path: "secret").path()
        settings.pushSecret = folder.appending(path: "push").path()
        settings.publicKeys = folder.appending(path: "keys").path()
        settings.limits.requestsPerSecond = 1000
        settings.bus = .address(bus.address)
        for (key, value) in changes { try settings.set(key, value) }
        let passed = isActivated ? [try ListeningSockets.open(ListenAddress(address: "127.0.0.1", port: 0))] : []
        passedPort = passed.first.map { ListeningSockets.port(of: $0) }
        web = try await RunningWeb(settings, passed: passed, logger: log.logger)
    }

    private let passedPort: UInt16?
    var port: UInt16 { passedPort ?? web.port }
    var socket: String { folder.appending(path: "sock").path() }

    static func keys() throws -> TokenKeys {
        try TokenKeys(
            secret: secret, publicKeys: [:], pushSecret: secret, audience: "btcall", cryptography: Sodium())
    }

    /// - Parameters:
    ///   - seconds: how long it will be accepted.
    ///   - age: seconds since it was made.
    func token(_ scopes: Set<WebScope>, seconds: Int64 = 600, age: Int64 = 0) throws -> String {
        try Self.keys().mint(
            scopes, subject: "test", seconds: seconds + age, now: WallClock.now.milliseconds / 1000 - age)
    }

    /// A request to a route, with anything for its parameters and nothing for its body.
    func request(_ route: Route, token: String?) throws -> WebRequest {
        var path = route.path
        for name in route.parameters {
            path = path.replacing("{\(name)}", with: name == "address" ? "00:00:5E:00:53:01" : "x")
        }
        var head = HTTPRequestHead(version: .http1_1, method: HTTPMethod(rawValue: route.method), uri: path)
        head.headers.add(name: "Host", value: "localhost")
        if let token { head.headers.add(name: "Authorization", value: "Bearer \(token)") }
        return try WebRequest(head, [], from: .network(address: "127.0.0.1"))
    }

    /// The code of the answer's error; nil for another answer.
    func error(_ request: @autoclosure () throws -> WebRequest) async rethrows -> String? {
        guard case .response(let response) = await web.service.answer(try request()) else { return nil }
        // A body that is no JSON has no error.
        return (try? JSON(reading: response.body))?["error"]?["code"]?.stringValue
    }

    /// One request over TCP.
    func ask(
        _ method: String, _ path: String, _ scopes: Set<WebScope>? = [.admin], body: String? = nil,
        fields: String = ""
    ) async throws -> WebClient.Reply {
        let client = try WebClient(port: port)
        defer { client.close() }
        return try await client.request(
            method, path, token: try scopes.map { try token($0) }, body: body, fields: fields,
            hasBody: method != "HEAD")
    }
}
