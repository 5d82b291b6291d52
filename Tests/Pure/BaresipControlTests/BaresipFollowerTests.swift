import BaresipControl
import BluetoothTypes
import Telephony
import TestSupport
import Testing

/// The follower, fed with recorded dialogues of baresip 1.0.0.
@Suite struct BaresipFollowerTests {
    private typealias Action = BaresipFollower.Action
    private typealias Key = BaresipFollower.CallKey
    private typealias Player = BaresipPlayer

    @Test func `an incoming call is answered, held, resumed, given tones, muted and ended`() throws {
        let ann = BaresipPeer(uri: "sip:+4930123@127.0.0.1:15060", name: "Ann Ä")
        try Player.useIncomingCall(BaresipDialogue.incoming, from: ann, .v1dot0)
    }

    @Test func `a dialled call rings, is answered and ends; another one fails with its reason`() {
        var player = Player.following(BaresipDialogue.outgoing)
        _ = player.removeActions()
        let (first, actions) = player.follower.dial("sip:bob@127.0.0.1:15070", id: .init(1), at: player.now)
        player.run(actions)
        player.play()
        #expect(
            player.removeActions() == [
                .completed(.init(1), nil), .changed(first, .alerting), .changed(first, .active),
                .changed(first, .ended(.remoteHangUp)),
            ])
        let (second, more) = player.follower.dial("nobody", id: .init(2), at: player.now)
        player.run(more)
        player.play()
        #expect(player.removeActions() == [.completed(.init(2), nil), .changed(second, .ended(.notFound))])
        #expect(player.rest == 0)
    }

    @Test func `a call dialled in baresip is reported before it rings`() throws {
        var player = Player.following(BaresipDialogue.outgoing)
        _ = player.removeActions()
        player.say(
            #"{"event":true,"type":"CALL_LOCAL_SDP","class":"other","accountaor":"sip:a@b","direction":"outgoing","#
                + #""peeruri":"sip:bob@127.0.0.1","param":"offer"}"#)
        let key = try #require(player.keys().first)
        let bob = BaresipPeer(uri: "sip:bob@127.0.0.1", name: nil)
        #expect(player.removeActions() == [.added(key, .outgoing, bob, .dialing)])
        // It has no id yet: its line is found by its peer.
        player.request(.end(key, .localHangUp), 1)
        #expect(player.takeSent() == [#"{"command":"uafind","params":"sip:a@b","token":"3"}"#])
        player.say(#"{"response":true,"ok":true,"data":"ua: sip:a@b\n","token":"3"}"#)
        #expect(player.takeSent() == [#"{"command":"listcalls","token":"4"}"#])
        player.say(
            #"{"response":true,"ok":true,"data":"> [line 3]  0:00:00   OUTGOING   sip:bob@127.0.0.1\n","token":"4"}"#)
        #expect(player.takeSent() == [#"{"command":"line","params":"3","token":"5"}"#])
        player.say(#"{"response":true,"ok":true,"data":"setting current call: line 3\n","token":"5"}"#)
        #expect(player.takeSent() == [#"{"command":"hangup","token":"6"}"#])
        player.say(
            #"{"event":true,"type":"CALL_CLOSED","class":"call","accountaor":"sip:a@b","direction":"outgoing","#
                + #""peeruri":"sip:bob@127.0.0.1","id":"77","param":"Connection reset by user"}"#)
        player.say(#"{"response":true,"ok":true,"data":"","token":"6"}"#)
        #expect(player.removeActions() == [.changed(key, .ended(.localHangUp)), .completed(.init(1), nil)])
    }

    @Test func `answering a second call holds the first one, which is read from the list of calls`() throws {
        var player = Player.following(BaresipDialogue.second)
        let first = try #require(player.keys().first)
        player.request(.answer(first), 1)
        player.play()
        let second = try #require(player.keys().last)
        #expect(second != first)
        _ = player.removeActions()
        player.request(.answer(second), 2)
        player.play()
        #expect(
            player.removeActions() == [
                .changed(second, .active), .completed(.init(2), nil), .changed(first, .held),
            ])
        #expect(player.rest == 0)
    }

    @Test func `existing calls are adopted, and end with baresip`() throws {
        var player = Player.following(BaresipDialogue.running)
        let keys = player.keys()
        try #require(keys.count == 2)
        let ann = BaresipPeer(uri: "sip:+4930123@127.0.0.1:15060", name: "Ann Ä")
        let carol = BaresipPeer(uri: "sip:carol@127.0.0.1:15080", name: "carol")
        #expect(
            player.removeActions() == [
                .connect, .note(.following(.v1dot0)), .appeared,
                .added(keys[0], .incoming, ann, .incoming), .changed(keys[0], .active), .changed(keys[0], .held),
                .added(keys[1], .incoming, carol, .incoming), .changed(keys[1], .active),
                .changed(keys[1], .ended(.remoteHangUp)),
            ])
        // baresip may resume the other call: the follower reads whether it did.
        #expect(player.takeSent() == [#"{"command":"listcalls","token":"8"}"#])
        player.run(player.follower.disconnected("gone", at: player.now))
        #expect(player.removeActions() == [.vanished, .note(.away("gone"))])
        player.pass(.milliseconds(999))
        #expect(player.removeActions() == [])
        player.pass(.milliseconds(1))
        #expect(player.removeActions() == [.connect])
    }

    @Test func `splitting the stream at any position gives the same actions`() {
        let said = BaresipDialogue.running.split(separator: "\n").filter { $0.hasPrefix("< ") }
        let stream = said.flatMap { NetstringReader.frame(String($0.dropFirst(2))) }
        func actions(_ pieces: [[UInt8]]) -> [Action] {
            var player = Player()
            player.connect()
            for piece in pieces { player.run(player.follower.received(piece, at: player.now)) }
            return player.actions
        }
        let whole = actions([stream])
        #expect(whole.count > 5)
        for cut in stream.indices { #expect(actions([Array(stream[..<cut]), Array(stream[cut...])]) == whole) }
    }

    // MARK: The connection

    @Test func `the follower retries after 1, 2, 4, 8, 16 and 30 seconds, and reports baresip's absence once`() {
        var player = Player()
        player.run(player.follower.start(at: player.now))
        #expect(player.removeActions() == [.connect])
        player.run(player.follower.disconnected("refused", at: player.now))
        #expect(player.removeActions() == [.note(.away("refused"))])
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            let deadline = player.follower.deadline
            #expect(deadline == player.now.advanced(by: .seconds(seconds)))
            player.pass(.seconds(seconds))
            #expect(player.removeActions() == [.connect])
            player.run(player.follower.disconnected("refused", at: player.now))
            #expect(player.removeActions() == [])
        }
    }

    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\n\r\n", "5:hello,", "220 mail.example.org ESMTP\r\n"])
    func `another program on the port is reported once and left alone for half a minute`(greeting: String) {
        var player = Player()
        player.connect()
        player.run(player.follower.received(Array(greeting.utf8), at: player.now))
        let found = player.removeActions()
        #expect(found.last == .disconnect)
        #expect(
            found.contains { action in
                if case .note(.stranger) = action { true } else { false }
            })
        #expect(player.follower.deadline == player.now.advanced(by: .seconds(30)))
        player.pass(.seconds(30))
        player.run(player.follower.connected(at: player.now))
        player.run(player.follower.received(Array(greeting.utf8), at: player.now))
        #expect(player.removeActions() == [.connect, .disconnect])
    }

    @Test func `a program that does not answer is not baresip`() {
        var player = Player()
        player.connect()
        _ = player.removeActions()
        player.pass(BaresipFollower.answerTimeout)
        #expect(
            player.removeActions() == [
                .note(.stranger("it does not answer within \(BaresipFollower.answerTimeout)")), .disconnect,
            ])
    }

    @Test func `a connection that is taken away repeatedly is retried at growing intervals`() {
        var player = Player()
        player.run(player.follower.start(at: player.now))
        for seconds in [1, 2, 4, 8] {
            player.run(player.follower.connected(at: player.now))
            let token = player.takeSent().last?.split(separator: "\"").last { Int($0) != nil } ?? ""
            player.say(#"{"response":true,"ok":true,"data":"","token":"\#(token)"}"#)
            #expect(player.removeActions().contains(.appeared))
            player.run(player.follower.disconnected("closed", at: player.now))
            #expect(player.removeActions().contains(.vanished))
            #expect(player.follower.deadline == player.now.advanced(by: .seconds(seconds)))
            player.pass(.seconds(seconds))
        }
    }

    @Test func `stopping ends requests and calls`() throws {
        var player = Player.following(BaresipDialogue.incoming)
        let key = try #require(player.keys().first)
        _ = player.removeActions()
        player.request(.answer(key), 1)
        player.run(player.follower.stop())
        #expect(player.removeActions() == [.completed(.init(1), .away), .vanished, .disconnect])
        #expect(player.follower.deadline == nil)
        player.request(.answer(key), 2)
        #expect(player.removeActions() == [.completed(.init(2), .away)])
    }

    // MARK: Failures

    @Test func `an answer that baresip accepts but does not carry out times out`() throws {
        var player = Player.following(BaresipDialogue.incoming)
        let key = try #require(player.keys().first)
        _ = player.removeActions()
        player.request(.answer(key), 1)
        player.say(#"{"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"3"}"#)
        player.say(#"{"response":true,"ok":true,"data":"sip:bob: Answering incoming call\n","token":"4"}"#)
        #expect(player.removeActions() == [])
        player.pass(BaresipFollower.answerTimeout)
        guard case .completed(.init(1), .timedOut) = player.removeActions().first else {
            Issue.record("the answer has no end")
            return
        }
    }

    @Test func `a call that baresip does not find is not mistaken for its current one`() throws {
        var player = Player.following(BaresipDialogue.incoming)
        let key = try #require(player.keys().first)
        _ = player.removeActions()
        _ = player.takeSent()
        player.request(.end(key, .localHangUp), 1)
        _ = player.takeSent()
        player.say(#"{"response":true,"ok":true,"data":"call not found (id=8def2da3cfd89f16)\n","token":"3"}"#)
        #expect(player.removeActions() == [.completed(.init(1), .noSuchCall)])
        #expect(player.takeSent() == [])
    }

    @Test func `mute is toggled again when it already was on`() throws {
        var player = Player.following(BaresipDialogue.incoming)
        let key = try #require(player.keys().first)
        _ = player.removeActions()
        player.request(.setMuted(key, true), 1)
        player.say(#"{"response":true,"ok":true,"data":"setting current call: 8def2da3cfd89f16\n","token":"3"}"#)
        player.say(#"{"response":true,"ok":true,"data":"\ncall un-muted\n","token":"4"}"#)
        #expect(player.removeActions() == [])
        #expect(player.takeSent().last == #"{"command":"mute","token":"5"}"#)
        player.say(#"{"response":true,"ok":true,"data":"\ncall muted\n","token":"5"}"#)
        #expect(player.removeActions() == [.completed(.init(1), nil)])
    }

    @Test(arguments: ["", "a b", "1\n2", "Ä", String(repeating: "1", count: 201)])
    func `an invalid number is refused`(number: String) {
        var player = Player.following(BaresipDialogue.outgoing)
        _ = player.removeActions()
        let (_, actions) = player.follower.dial(number, id: .init(1), at: player.now)
        guard actions.count == 1, case .completed(.init(1), .invalid?) = actions[0] else {
            Issue.record("\(actions)")
            return
        }
    }

    @Test func `random answers and events complete every request once and never trap`() {
        var random = SeededGenerator(seed: 20_261_122)
        let messages = [
            BaresipDialogue.incoming, BaresipDialogue.outgoing, BaresipDialogue.second, BaresipDialogue.running,
            BaresipDialogue.incoming11, BaresipDialogue.outgoing11, BaresipDialogue.running11,
        ].flatMap { $0.split(separator: "\n").filter { $0.hasPrefix("< ") }.map { String($0.dropFirst(2)) } }
        for _ in 0..<300 {
            var player = Player()
            player.connect()
            var asked: Set<UInt64> = []
            for step in UInt64(1)...60 {
                let keys = player.keys()
                switch random.below(8) {
                case 0:
                    asked.insert(step)
                    player.run(player.follower.dial("5", id: .init(step), at: player.now).actions)
                case 1, 2:
                    guard !keys.isEmpty else { continue }
                    let key = keys[random.below(keys.count)]
                    let requests: [BaresipFollower.Request] = [
                        .answer(key), .end(key, .rejected), .setHeld(key, true), .setHeld(key, false),
                        .setMuted(key, true), .sendTones(key, "1"),
                    ]
                    asked.insert(step)
                    player.request(requests[random.below(requests.count)], step)
                case 3: player.pass(.milliseconds(random.below(7000)))
                case 4 where random.below(6) == 0:
                    player.run(player.follower.disconnected("", at: player.now))
                    player.run(player.follower.connected(at: player.now))
                default:
                    // Answers the latest request, whatever it says.
                    var message = messages[random.below(messages.count)]
                    let token = player.takeSent().last?.split(separator: "\"").last { UInt64($0) != nil }
                    if let token, message.hasPrefix("{\"response"), let end = message.lastIndex(of: ",") {
                        message = message[..<end] + ",\"token\":\"\(token)\"}"
                    }
                    player.say(message)
                }
            }
            player.run(player.follower.stop())
            let ends = player.actions.compactMap { action -> UInt64? in
                if case .completed(let id, _) = action { id.value } else { nil }
            }
            #expect(ends.count == Set(ends).count)
            #expect(Set(ends) == asked)
            #expect(player.follower.deadline == nil)
        }
    }
}
