import BTCall
import ControlLoop
import Glibc
import JSONText
import NIOHTTP1
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

/// Tokens that a Swift program on the machine gets from btcall-web.
@Suite(.enabled(if: geteuid() == 0, "only root and the group btcall get tokens")) @ControlPlane
struct LibraryTokenTests {
    @ControlPlane
    private final class Received {
        var tokens: [String] = []
    }

    @Test func `S4.6 a program gets a token for its page, and the next one when btcall-web asks the page for it`()
        async throws
    {
        try await WebBox.run { box in
            let received = Received()
            let context = try await CallBridge.authenticationContext(
                for: [.calls, .read], subject: "kiosk", life: .seconds(3), socket: box.socket
            ) { token in
                Task { @ControlPlane in received.tokens.append(token) }
            }
            let first = context.jwtToken
            let client = try WebClient(port: box.port)
            #expect(try await client.openSocket(token: first) == 101)
            _ = try await client.message("tokenRefreshRequested")
            try await eventually("there is the next token") { !received.tokens.isEmpty }
            let next = try #require(received.tokens.first)
            #expect(next == context.jwtToken && next != first)
            client.say(#"{"request":"authenticate","id":1,"token":"\#(next)"}"#)
            let reply = try JSON(reading: Array(try await client.message(#""reply":1"#).utf8))
            #expect(reply["result"]?["scopes"] == ["read", "calls"])
            #expect(reply["result"]?["expiresAt"]?.stringValue == context.expiresAt)
            let verified = try WebBox.keys().verify(next, now: WallClock.now.milliseconds / 1000)
            #expect(verified.subject == "kiosk")
            await context.end()
            let count = received.tokens.count
            try await eventually("the page's token has expired") { client.closeCode == 4002 }
            #expect(received.tokens.count == count)
        }
    }

    @Test func `S4.19 a server with a push token posts calls, and may do nothing else`() async throws {
        try await WebBox.run { box in
            let push = try await CallBridge.pushToken(for: "kiosk", socket: box.socket)
            #expect(push.provider == "kiosk" && push.expiresAt > WallClock.now.iso8601)
            let fields = "Authorization: \(push.authorization)\r\n"
            let call = try await box.ask(
                "POST", push.path, nil, body: #"{"number":"5550100","provider":"\#(push.provider)"}"#, fields: fields)
            #expect(call.status == 201 && call.text.contains("5550100"), "\(call.text)")
            let calls = try await box.ask("GET", "/v1/calls", nil, fields: fields)
            #expect(calls.status == 403 && calls.text.contains("noScope"))
        }
    }

    @Test func `tokens are made on the Unix socket alone, and for the group alone`() async throws {
        try await WebBox.run { box in
            let body = #"{"scopes":["read"],"seconds":60}"#
            let network = try await box.ask("POST", "/v1/tokens", [.admin], body: body)
            #expect(network.status == 403 && network.text.contains("accessDenied"))
            let route = try #require(RouteTable.routes.first { $0.path == "/v1/tokens" })
            var request = HTTPRequestHead(version: .http1_1, method: .POST, uri: route.path)
            request.headers.add(name: "Content-Type", value: "application/json")
            let stranger = try WebRequest(request, Array(body.utf8), from: .local(user: 65534, isMember: false))
            #expect(await box.error(stranger) == "noScope")
        }
    }

    @Test func `what btcall-web refuses, and its absence, are errors of the library`() async throws {
        func refusal(
            _ life: Duration, _ scopes: Set<AuthenticationContext.Scope>, _ socket: String
        ) async -> BridgeError? {
            do {
                _ = try await CallBridge.authenticationContext(for: scopes, life: life, socket: socket) { _ in }
                return nil
            } catch {
                return error
            }
        }
        try await WebBox.run { box in
            #expect(await refusal(.zero, [.read], box.socket)?.code == .invalidArgument)
            #expect(await refusal(.seconds(1), [], box.socket)?.code == .invalidArgument)
            let absent = await refusal(.seconds(1), [.read], box.socket + "-none")
            #expect(absent?.code == .failed)
            #expect(absent?.message.hasPrefix("btcall-web does not answer at \(box.socket)-none: ") == true)
        }
        try await WebBox.run([.secret: "/nonexistent/secret"]) { box in
            #expect(await refusal(.seconds(1), [.read], box.socket)?.code == .notSupported)
        }
    }

    @Test func `the library's scopes are those of btcall-web`() {
        #expect(AuthenticationContext.Scope.allCases.map(\.rawValue) == WebScope.allCases.map(\.rawValue))
    }
}
