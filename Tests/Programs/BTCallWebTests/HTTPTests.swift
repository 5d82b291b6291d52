import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import JSONText
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

@Suite @ControlPlane struct HTTPTests {
    private func code(_ reply: WebClient.Reply) throws -> String? {
        try JSON(reading: reply.body)["error"]?["code"]?.stringValue
    }

    @Test func `the JSON of a route is that of the verb`() async throws {
        try await WebBox.run { box in
            let call = CallDescription(
                id: "4f0c6f7e-35a1-4d3f-8a5e-0d1c2b3a4958", state: .ringing, direction: .incoming, number: "5550100",
                provider: "test", index: 1)
            box.daemon.addCall(call)
            let reply = try await box.ask("GET", "/v1/calls", [.read])
            #expect(reply.status == 200)
            #expect(reply.headers["content-type"] == "application/json")
            let calls = try JSON(reading: reply.body)
            guard case .array(let list) = calls else { throw WebClient.ClientError(description: reply.text) }
            #expect(list.count == 1)
            #expect(list[0]["number"] == "5550100")
            #expect(list[0]["state"] == "ringing")
            let answer = try await box.ask("POST", "/v1/calls/\(call.id)/answer", [.calls])
            #expect(try JSON(reading: answer.body) == ["call": .string(call.id), "state": "active"])
            #expect(box.daemon.requests.contains { $0.hasPrefix("Answer") })
        }
    }

    @Test func `an error of the bus keeps its name and its text`() async throws {
        try await WebBox.run { box in
            let reply = try await box.ask("PUT", "/v1/route", [.route], body: #"{"device":"wiredHeadset"}"#)
            let direct = try await CallBridge(bus: .address(box.bus.address))
            var expected: BridgeError?
            do throws(BridgeError) {
                try await direct.audioDeviceManager.select(.wiredHeadset)
            } catch {
                expected = error
            }
            await direct.close()
            guard let expected else {
                #expect(reply.status == 200)
                return
            }
            let error = try JSON(reading: reply.body)["error"]
            #expect(error?["name"]?.stringValue == expected.name)
            #expect(error?["message"]?.stringValue == expected.message)
        }
    }

    @Test(arguments: [
        ("GET", "/v1/none", nil as String?, 404, "noSuchPath"), ("POST", "/v1/status", nil, 405, "badMethod"),
        ("GET", "/v1/calls/x", nil, 404, "noSuchCall"), ("PUT", "/v1/muted", "{", 400, "badRequest"),
        ("PUT", "/v1/muted", "{}", 400, "badRequest"),
        ("PUT", "/v1/muted", #"{"muted":true,"x":1}"#, 400, "badRequest"),
        ("PUT", "/v1/muted", #"{"muted":"yes"}"#, 400, "badRequest"),
        ("PUT", "/v1/muted", #"{"muted":0}"#, 400, "badRequest"), ("GET", "/v1/calls/end", nil, 405, "badMethod"),
        ("POST", "/v1/test-call", #"{"seconds":61}"#, 400, "invalidArgument"),
        ("POST", "/v1/calls/incoming", #"{"number":"1","key":""}"#, 400, "invalidArgument"),
        ("POST", "/v1/calls/incoming", #"{"number":"1\u0000"}"#, 400, "invalidArgument"),
        ("PUT", "/v1/route", #"{"device":"kitchen"}"#, 400, "invalidArgument"),
        ("PUT", "/v1/volumes/kitchen", #"{"speaker":1}"#, 400, "invalidArgument"),
        ("POST", "/v1/calls/end", "{}", 400, "badRequest"),
        ("GET", "/v1/history?maximum=0", nil, 400, "invalidArgument"),
        ("GET", "/v1/socket", nil, 426, "badRequest"), ("GET", "/v1/%zz", nil, 400, "badRequest"),
    ])
    func `a request that is not accepted says why`(
        method: String, path: String, body: String?, status: Int, code expected: String
    ) async throws {
        try await WebBox.run { box in
            let reply = try await box.ask(method, path, body: body)
            #expect(reply.status == status, "\(reply.text)")
            #expect(try code(reply) == expected)
            #expect(try JSON(reading: reply.body)["error"]?["message"]?.stringValue?.isEmpty == false)
        }
    }

    @Test func `without btcalld every answer says that it does not run`() async throws {
        try await WebBox.run { box in
            box.daemon.bus.close()
            try await eventually("btcalld has gone") {
                let reply = try await box.ask("GET", "/v1/status")
                return try reply.status == 503 && code(reply) == "notRunning"
            }
        }
    }

    @Test func `metrics are those of btcalld`() async throws {
        try await WebBox.run { box in
            box.daemon.setMetrics("# EOF\n")
            let reply = try await box.ask("GET", "/metrics", [.read])
            #expect(reply.text == "# EOF\n")
            #expect(reply.headers["content-type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(try await box.ask("GET", "/metrics", nil).status == 401)
        }
    }

    @Test func `several requests go over one connection, and HEAD has no body`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            let token = try box.token([.read])
            for _ in 0..<3 { #expect(try await client.request("GET", "/v1/status", token: token).status == 200) }
            let head = try await client.request("HEAD", "/v1/status", token: token, hasBody: false)
            #expect(head.status == 200)
            #expect(head.headers["content-length"].flatMap { Int($0) } ?? 0 > 10)
            #expect(try await client.request("GET", "/v1", token: token).status == 200)
            client.close()
        }
    }

    // MARK: Limits

    @Test func `a body, a head and an address have limits`() async throws {
        try await WebBox.run { box in
            let long = "\"" + String(repeating: "a", count: 70_000) + "\""
            #expect(try await box.ask("PUT", "/v1/muted", body: long).status == 413)
            let fields = "X-Long: " + String(repeating: "a", count: 9000) + "\r\n"
            #expect(try await box.ask("GET", "/v1", fields: fields).status == 431)
            #expect(try await box.ask("GET", "/" + String(repeating: "a", count: 3000)).status == 414)
            let chunked = try WebClient(port: box.port)
            try chunked.startReading()
            chunked.send("PUT /v1/muted HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
            for _ in 0..<20 { chunked.send("1000\r\n" + String(repeating: "a", count: 4096) + "\r\n") }
            #expect(try await chunked.reply().status == 413)
        }
    }

    @Test func `what is no HTTP is answered once, then the connection ends`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            try client.startReading()
            client.send("\u{16}\u{3}\u{1}hello\r\n\r\n")
            #expect(try await client.reply().status == 400)
            try await eventually("the connection ends") { client.isClosed }
        }
    }

    @Test func `a peer that asks too often is told when to come back`() async throws {
        try await WebBox.run([.requestsPerSecond: "1"]) { box in
            var last: WebClient.Reply?
            for _ in 0..<4 { last = try await box.ask("GET", "/v1", [.read]) }
            #expect(last?.status == 429)
            #expect(last?.headers["retry-after"] == "1")
            #expect(try code(try #require(last)) == "tooMany")
        }
    }

    @Test func `connections beyond the limit of a peer are refused, and accepted again`() async throws {
        try await WebBox.run([.perPeer: "2"]) { box in
            let token = try box.token([.read])
            let first = try WebClient(port: box.port)
            let second = try WebClient(port: box.port)
            #expect(try await first.request("GET", "/v1", token: token).status == 200)
            #expect(try await second.request("GET", "/v1", token: token).status == 200)
            let third = try WebClient(port: box.port)
            #expect(try await third.reply().status == 429)
            first.close()
            try await eventually("a connection is accepted again") {
                try await box.ask("GET", "/v1", [.read]).status == 200
            }
            second.close()
        }
    }

    // MARK: Hosts and origins

    @Test func `only names of this machine are accepted as Host`() async throws {
        try await WebBox.run([.hosts: "kiosk.example.org"]) { box in
            for (host, status) in [
                ("localhost:8460", 200), ("127.0.0.1", 200), ("[::1]:8460", 200), ("kiosk.example.org", 200),
                ("evil.example.org", 421), ("localhost.evil.example.org", 421), ("", 421),
            ] {
                let client = try WebClient(port: box.port)
                try client.startReading()
                client.send("GET /v1/openapi.json HTTP/1.1\r\nHost: \(host)\r\n\r\n")
                #expect(try await client.reply().status == status, "\(host)")
            }
        }
    }

    @Test func `pages of other origins are refused unless they are configured`() async throws {
        try await WebBox.run([.origins: "https://kiosk.example.org"]) { box in
            let own = try await box.ask("GET", "/v1", fields: "Origin: http://localhost\r\n")
            #expect(own.status == 200)
            #expect(own.headers["access-control-allow-origin"] == nil)
            let known = try await box.ask("GET", "/v1", fields: "Origin: https://kiosk.example.org\r\n")
            #expect(known.headers["access-control-allow-origin"] == "https://kiosk.example.org")
            let other = try await box.ask("GET", "/v1", fields: "Origin: https://evil.example.org\r\n")
            #expect(try code(other) == "badOrigin")
            let preflight = try await box.ask(
                "OPTIONS", "/v1/calls", nil,
                fields: "Origin: https://kiosk.example.org\r\nAccess-Control-Request-Method: POST\r\n")
            #expect(preflight.status == 204)
            #expect(preflight.headers["access-control-allow-methods"] == "GET, POST")
        }
    }

    // MARK: Who asks

    @Test func `a refused token is a line of the log without the token`() async throws {
        try await WebBox.run { box in
            let token = try box.token([.read]) + "A"
            let client = try WebClient(port: box.port)
            let reply = try await client.request("GET", "/v1/status", token: token)
            #expect(reply.status == 401)
            #expect(reply.headers["www-authenticate"]?.hasPrefix("Bearer") == true)
            #expect(box.log.containing("127.0.0.1: token refused").count == 1)
            #expect(box.log.containing(token).isEmpty)
        }
    }

    @Test func `on the Unix socket the peer's user stands in for a token`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(path: box.socket)
            let reply = try await client.request("GET", "/v1")
            #expect(reply.status == 200)
            let scopes = try JSON(reading: reply.body)["scopes"]
            // The tests run as root in CI, as somebody else elsewhere.
            #expect(scopes == (geteuid() == 0 ? JSON(WebScope.allCases.map(\.rawValue)) : ["read"]))
        }
    }

    @Test func `others on the Unix socket read, without numbers and names of callers`() {
        let principal = WebPrincipal(user: 1000, isMember: false)
        #expect(principal.words == ["read"])
        #expect(!principal.seesCallers)
        let json: JSON = ["calls": [["call": "x", "number": "1", "name": "A", "state": "active"]], "name": "headset"]
        #expect(
            CallerPrivacy.hidden(json) == [
                "calls": [["call": "x", "number": .null, "name": .null, "state": "active"]], "name": "headset",
            ])
    }

    // MARK: Files

    @Test func `files are served with their type, and nothing outside the folder is`() async throws {
        try await WebBox.run { box in
            let files = box.folder.appending(path: "files")
            try Data("<p>".utf8).write(to: files.appending(path: "index.html"))
            try Data("secret".utf8).write(to: files.appending(path: ".hidden.txt"))
            try Data("x".utf8).write(to: files.appending(path: "tool.exe"))
            try Data("x".utf8).write(to: box.folder.appending(path: "outside.txt"))
            try FileManager.default.createSymbolicLink(
                at: files.appending(path: "link.txt"), withDestinationURL: box.folder.appending(path: "outside.txt"))
            let index = try await box.ask("GET", "/", nil)
            #expect(index.text == "<p>")
            #expect(index.headers["content-type"] == "text/html; charset=utf-8")
            #expect(index.headers["content-security-policy"] == "default-src 'self'")
            let tag = try #require(index.headers["etag"])
            #expect(try await box.ask("GET", "/", nil, fields: "If-None-Match: \(tag)\r\n").status == 304)
            for path in [
                "/.hidden.txt", "/tool.exe", "/link.txt", "/../outside.txt", "/%2e%2e/outside.txt", "/..%2Foutside.txt",
                "/none.html", "/index.html%00.txt",
            ] {
                let reply = try await box.ask("GET", path, nil)
                #expect([400, 404].contains(reply.status), "\(path)")
            }
            #expect(try await box.ask("POST", "/", nil, body: "{}").status == 405)
        }
    }
}
