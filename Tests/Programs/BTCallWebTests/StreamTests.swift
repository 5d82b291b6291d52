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

@Suite @ControlPlane struct StreamTests {
    private static let call = CallDescription(
        id: "4f0c6f7e-35a1-4d3f-8a5e-0d1c2b3a4958", state: .ringing, direction: .incoming, number: "5550100",
        provider: "test", index: 1)

    private func word(_ text: String) throws -> String? { try JSON(reading: Array(text.utf8))["event"]?.stringValue }

    @Test func `server-sent events begin with the present state, and go on with what happens`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            try client.send("GET", "/v1/events", token: try box.token([.read]))
            try await eventually("the present state arrives") { !client.events.isEmpty }
            let head = try client.head()
            #expect(head.status == 200)
            #expect(head.headers["content-type"] == "text/event-stream")
            let present = try JSON(reading: Array(try #require(client.events.first).utf8))
            #expect(present["event"] == "present")
            #expect(present["status"]?["state"] == "active")
            #expect(present["pairing"]?["state"] == "closed")
            box.daemon.addCall(Self.call)
            try await eventually("the call is told") { client.events.contains { $0.contains("callAdded") } }
            client.close()
        }
    }

    @Test func `after a restart of btcalld the present state comes again`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            _ = try await client.openSocket(token: try box.token([.read]))
            _ = try await client.message("present")
            box.daemon.bus.close()
            _ = try await client.message("daemonVanished")
            let again = try await FakeDaemon(box.bus.address)
            try await eventually("the present state comes again") {
                client.messages.count { $0.contains(#""event":"present""#) } == 2
            }
            let words = try client.messages.map(word)
            #expect(words.firstIndex(of: "daemonAppeared") ?? 0 < words.lastIndex(of: "present") ?? 0)
            again.bus.close()
        }
    }

    @Test func `a WebSocket without a token in its head authenticates first`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            #expect(try await client.openSocket() == 101)
            client.say(#"{"request":"watch","id":1,"levels":true}"#)
            #expect(try await client.message(#""reply":1"#).contains("noToken"))
            client.say(#"{"request":"authenticate","id":2,"token":"\#(try box.token([.read]))"}"#)
            let reply = try await client.message(#""reply":2"#)
            #expect(try JSON(reading: Array(reply.utf8))["result"]?["scopes"] == ["read"])
            _ = try await client.message("present")
            client.say(#"{"request":"register","id":3,"name":"page","key":"0123456789abcdef","capabilities":[]}"#)
            #expect(try await client.message(#""reply":3"#).contains("noScope"))
        }
    }

    @Test func `a WebSocket with a bad token, a foreign origin or another path is refused`() async throws {
        try await WebBox.run { box in
            let token = try box.token([.read])
            #expect(try await WebClient(port: box.port).openSocket(token: "x.y.z") == 401)
            #expect(try await WebClient(port: box.port).openSocket("/v1/none", token: token) == 404)
            let fields = "Origin: https://evil.example.org\r\n"
            #expect(try await WebClient(port: box.port).openSocket(token: token, fields: fields) == 403)
            let client = try WebClient(port: box.port)
            #expect(try await client.openSocket() == 101)
            client.say(#"{"request":"authenticate","id":1,"token":"x.y.z"}"#)
            try await eventually("it is closed") { client.closeCode == 1008 }
        }
    }

    @Test func `a WebSocket ends with its token, and asks for the next one before`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            // The next token is asked for when four fifths of a life are over: four seconds before this one's end.
            _ = try await client.openSocket(token: try box.token([.read], seconds: 5, age: 15))
            _ = try await client.message("tokenRefreshRequested")
            client.say(#"{"request":"authenticate","id":1,"token":"\#(try box.token([.read], seconds: 3))"}"#)
            _ = try await client.message(#""reply":1"#)
            try await eventually("it ends") { client.closeCode == 4002 }
            #expect(client.messages.count { $0.contains("tokenRefreshRequested") } == 2)
        }
    }

    @Test func `pings are answered; binary, oversize and malformed messages end it with their code`() async throws {
        try await WebBox.run { box in
            let token = try box.token([.read])
            @ControlPlane func socket() async throws -> WebClient {
                let client = try WebClient(port: box.port)
                #expect(try await client.openSocket(token: token) == 101)
                return client
            }
            let pinged = try await socket()
            pinged.sendFrame([1, 2], opcode: 9)
            try await eventually("the pong arrives") {
                pinged.frames.contains { $0.opcode == 10 && $0.payload == [1, 2] }
            }
            for (payload, opcode, code) in [
                ([1], 2, 1003), ([0xFF, 0xFE], 1, 1007), ([UInt8](repeating: 0x20, count: 70_000), 1, 1009),
            ] as [([UInt8], UInt8, Int)] {
                let client = try await socket()
                client.sendFrame(payload, opcode: opcode)
                try await eventually("it is closed with \(code)") { client.closeCode == code }
            }
            let confused = try await socket()
            for _ in 0..<10 { confused.say("nonsense") }
            try await eventually("it is closed") { confused.closeCode == 1008 }
            #expect(confused.messages.count { $0.contains("badRequest") } == 10)
        }
    }

    @Test func `a peer that does not read is cut off, and others get every event`() async throws {
        try await WebBox.run { box in
            let token = try box.token([.read])
            // The kernel keeps 208 KiB for a Unix socket, and up to 10 MiB for TCP.
            let deaf = try WebClient(path: box.socket)
            try deaf.send("GET", "/v1/events")
            try await eventually("it has the present state") { !deaf.events.isEmpty }
            deaf.pause()
            let quick = try WebClient(port: box.port)
            _ = try await quick.openSocket(token: token)
            _ = try await quick.message("present")
            let reason = String(repeating: "r", count: 4000)
            var sent = 0
            try await eventually("the deaf peer is cut off", within: .seconds(30)) {
                // Bytes, because to look at every frame each time takes longer than to send them.
                guard quick.received.count > sent * reason.utf8.count / 2 else { return false }
                for _ in 0..<100 {
                    sent += 1
                    box.daemon.bus.emit(
                        path: BTCallPath.manager, interface: BTCallName.Interface.router,
                        member: BTCallName.Router.routeChanged,
                        [.string("none"), .string("earpiece"), .string(reason)])
                }
                return box.web.streamCount == 1
            }
            try await eventually("the other peer has every byte") {
                quick.received.count > sent * reason.utf8.count
            }
            try await eventually("the other peer has every event") {
                quick.messages.count { $0.contains(#""event":"routeChanged""#) } == sent
            }
        }
    }
}
