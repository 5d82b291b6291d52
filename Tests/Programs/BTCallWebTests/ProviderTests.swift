import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import Foundation
import JSONText
import TalkWords
import TestSupport
import Testing
import WebTokens

@testable import btcall_web

/// Web pages as telephony applications, and pushed calls.
@Suite @ControlPlane struct ProviderTests {
    private static let register =
        #"{"request":"register","id":1,"name":"page","key":"0123456789abcdef","capabilities":["hold","dtmf","mute"]}"#

    private func page(_ box: WebBox) async throws -> WebClient {
        let client = try WebClient(port: box.port)
        _ = try await client.openSocket(token: try box.token([.read, .provider]))
        _ = try await client.message("present")
        client.say(Self.register)
        _ = try await client.message(#""reply":1"#, "result")
        return client
    }

    private func object(_ text: String) throws -> JSON { try JSON(reading: Array(text.utf8)) }

    private func ring(_ client: WebClient) async throws -> String {
        client.say(#"{"request":"reportIncoming","id":2,"number":"5550100"}"#)
        let reply = try object(try await client.message(#""reply":2"#, "result"))
        return try #require(reply["result"]?["call"]?.stringValue)
    }

    private func asked(_ client: WebClient, _ word: String) async throws -> Int64 {
        let ask = try object(try await client.message(#""ask":"\#(word)""#))
        return try #require(ask["id"]?.integerValue)
    }

    @Test func `a page reports a call, is asked to answer it, and to hold it`() async throws {
        try await WebBox.run { box in
            let client = try await page(box)
            let call = try await ring(client)
            #expect(box.daemon.provider?.options.name == "page")
            async let isHeld: Void = box.daemon.pressHold(true)
            let id = try await asked(client, "hold")
            client.say(#"{"done":\#(id)}"#)
            await isHeld
            #expect(box.daemon.requests.last == "PerformSetHeld fulfilled")
            client.say(#"{"request":"update","id":3,"call":"\#(call)","state":"ended","reason":"busy"}"#)
            _ = try await client.message(#""reply":3"#, "ended")
            try await eventually("the call has ended") { box.daemon.calls.isEmpty }
        }
    }

    @Test func `a page is asked before somebody talks, and takes the floor back`() async throws {
        try await WebBox.run { box in
            let client = try WebClient(port: box.port)
            _ = try await client.openSocket(token: try box.token([.read, .provider]))
            _ = try await client.message("present")
            client.say(
                #"{"request":"register","id":1,"name":"page","key":"0123456789abcdef","capabilities":["talk"],"talk":"push"}"#
            )
            _ = try await client.message(#""reply":1"#, "result")
            let options = try #require(box.daemon.provider?.options)
            #expect(options.talk?.rawValue == "push" && options.capabilities.contains(.talk))
            let call = try await ring(client)
            async let isPressed: Void = box.daemon.pressTalk(true)
            client.say(#"{"done":\#(try await asked(client, "talk"))}"#)
            await isPressed
            #expect(box.daemon.requests.last == "PerformTalk fulfilled")
            client.say(#"{"request":"revokeTalk","id":3,"call":"\#(call)"}"#)
            _ = try await client.message(#""reply":3"#, "result")
            #expect(box.daemon.requests.last == "RevokeTalk")
            async let isReleased: Void = box.daemon.pressTalk(false)
            client.say(#"{"refused":\#(try await asked(client, "listen")),"message":"not now"}"#)
            await isReleased
            #expect(box.daemon.requests.last == "PerformTalk refused: not now")
            client.say(
                #"{"request":"register","id":4,"name":"page","key":"0123456789abcdef","capabilities":[],"talk":"press"}"#
            )
            #expect(try await client.message(#""reply":4"#).contains("latch, off, push, toggle"))
        }
    }

    @Test func `what a page refuses is refused with its reason, and silence is refused after 4 s`() async throws {
        try await WebBox.run { box in
            let client = try await page(box)
            _ = try await ring(client)
            async let isHeld: Void = box.daemon.pressHold(true)
            client.say(#"{"refused":\#(try await asked(client, "hold")),"message":"not now"}"#)
            await isHeld
            #expect(box.daemon.requests.last == "PerformSetHeld refused: not now")
            await box.daemon.pressHold(false)
            #expect(box.daemon.requests.last == "PerformSetHeld refused: the web page did not answer within 4 s")
        }
    }

    @Test func `a page that comes back has its calls, and is asked again what it was asked meanwhile`() async throws {
        try await WebBox.run { box in
            let client = try await page(box)
            let call = try await ring(client)
            client.close()
            try await eventually("the page has gone") { box.web.streamCount == 0 }
            async let isHeld: Void = box.daemon.pressHold(true)
            let again = try WebClient(port: box.port)
            _ = try await again.openSocket(token: try box.token([.read, .provider]))
            again.say(Self.register)
            let reply = try object(try await again.message(#""reply":1"#, "result"))
            guard case .array(let calls)? = reply["result"]?["calls"] else {
                throw WebClient.ClientError(description: "no calls")
            }
            #expect(calls.map { $0["call"] } == [.string(call)])
            again.say(#"{"done":\#(try await asked(again, "hold"))}"#)
            await isHeld
            #expect(box.daemon.requests.last == "PerformSetHeld fulfilled")
        }
    }

    @Test func `a second page with the same key replaces the first`() async throws {
        try await WebBox.run { box in
            let first = try await page(box)
            let call = try await ring(first)
            let second = try await page(box)
            try await eventually("the first is closed") { first.closeCode == 4001 }
            #expect(try await second.message(#""reply":1"#).contains(call))
            #expect(box.daemon.calls.count == 1)
        }
    }

    @Test func `a page only updates its own calls`() async throws {
        try await WebBox.run { box in
            box.daemon.addCall(
                CallDescription(
                    id: "4f0c6f7e-35a1-4d3f-8a5e-0d1c2b3a4958", state: .active, direction: .incoming, number: "1",
                    provider: "other", index: 1))
            let client = try await page(box)
            client.say(
                #"{"request":"update","id":5,"call":"4f0c6f7e-35a1-4d3f-8a5e-0d1c2b3a4958","state":"ended"}"#)
            #expect(try await client.message(#""reply":5"#).contains("notProvider"))
            #expect(box.daemon.calls.count == 1)
        }
    }

    // MARK: Pushes

    @Test func `a pushed call rings, is the same call for the same key, and everything counts as done`() async throws {
        try await WebBox.run { box in
            let body = #"{"number":"5550100","name":"Door","key":"ring-1"}"#
            let first = try await box.ask("POST", "/v1/calls/incoming", [.provider], body: body)
            #expect(first.status == 201, "\(first.text)")
            let second = try await box.ask("POST", "/v1/calls/incoming", [.provider], body: body)
            #expect(second.status == 200)
            let described = OpenAPIDescription.json(RouteTable.routes)["paths"]?["/v1/calls/incoming"]?["post"]
            #expect(described?["responses"]?["200"] != nil)
            #expect(try JSON(reading: first.body)["call"] == JSON(reading: second.body)["call"])
            #expect(box.daemon.calls.map(\.number) == ["5550100"])
            await box.daemon.pressHold(true)
            #expect(box.daemon.requests.last == "PerformSetHeld fulfilled")
            let call = try #require(try JSON(reading: first.body)["call"]?.stringValue)
            let ended = try await box.ask(
                "POST", "/v1/calls/\(call)/update", [.provider], body: #"{"state":"ended"}"#)
            #expect(ended.status == 200, "\(ended.text)")
            #expect(box.daemon.calls.isEmpty)
        }
    }

    @Test func `a signature replaces the token, for its own body and once`() async throws {
        try await WebBox.run { box in
            let body = #"{"number":"5550100"}"#
            let now = WallClock.now.milliseconds / 1000
            let signature = try WebBox.keys().signature(of: Array(body.utf8), now: now)
            let fields = "Btcall-Signature: \(signature)\r\n"
            let other = try await box.ask("POST", "/v1/calls/incoming", nil, body: #"{"number":"1"}"#, fields: fields)
            #expect(other.status == 403)
            #expect(try await box.ask("POST", "/v1/calls/incoming", nil, body: body, fields: fields).status == 201)
            #expect(try await box.ask("POST", "/v1/calls/incoming", nil, body: body, fields: fields).status == 403)
            let old = try WebBox.keys().signature(of: Array(body.utf8), now: now - 120)
            let late = try await box.ask(
                "POST", "/v1/calls/incoming", nil, body: body, fields: "Btcall-Signature: \(old)\r\n")
            #expect(late.status == 403)
            #expect(try await box.ask("POST", "/v1/calls/end", nil, fields: fields).status == 401)
            #expect(box.daemon.calls.count == 1)
            #expect(box.log.containing("signature refused").count == 2)
        }
    }

    @Test func `a page of the same name adopts a pushed call`() async throws {
        try await WebBox.run { box in
            let body = #"{"number":"5550100","provider":"page"}"#
            let pushed = try await box.ask("POST", "/v1/calls/incoming", [.provider], body: body)
            let call = try #require(try JSON(reading: pushed.body)["call"]?.stringValue)
            let client = try await page(box)
            #expect(try await client.message(#""reply":1"#).contains(call))
            client.say(#"{"request":"update","id":9,"call":"\#(call)","state":"ended"}"#)
            _ = try await client.message(#""reply":9"#, "ended")
        }
    }
}
