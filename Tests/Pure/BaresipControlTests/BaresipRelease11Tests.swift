import BaresipControl
import BluetoothTypes
import Telephony
import Testing

/// The follower, fed with recorded dialogues of baresip 1.1.0.
@Suite struct BaresipRelease11Tests {
    private typealias Player = BaresipPlayer

    private let ann = BaresipPeer(uri: "sip:+4930123@127.0.0.1:16060", name: "Ann Ä")

    @Test func `a call is resumed although baresip 1.1 answers that it is not`() throws {
        try Player.useIncomingCall(BaresipDialogue.incoming11, from: ann, .v1dot1)
    }

    @Test(arguments: ["(on hold)", ""])
    func `a refused hold or resume is judged by the list`(mark: String) throws {
        var player = Player.following(BaresipDialogue.incoming11)
        let key = try #require(player.keys().first)
        player.request(.answer(key), 1)
        player.play()
        _ = player.takeSent()
        _ = player.removeActions()
        player.request(.setHeld(key, false), 2)
        player.say(#"{"response":true,"ok":true,"data":"setting current call: 888e149074dd7d45\n","token":"5"}"#)
        player.say(#"{"response":true,"ok":false,"data":"Invalid argument","token":"6"}"#)
        #expect(player.takeSent().last == #"{"command":"listcalls","token":"7"}"#)
        let line = "> [line 1, id 888e149074dd7d45]  0:00:02  ESTABLISHED  \(mark)  sip:+4930123@127.0.0.1:16060"
        player.say(#"{"response":true,"ok":true,"data":""# + line + #"\n","token":"7"}"#)
        let isResumed = mark.isEmpty
        #expect(
            player.removeActions()
                == [.completed(.init(2), isResumed ? nil : .refused("baresip says: Invalid argument"))])
    }

    @Test func `a dialled call is known by its id before it rings`() {
        var player = Player.following(BaresipDialogue.outgoing11)
        _ = player.removeActions()
        let (first, actions) = player.follower.dial("sip:+4930123@127.0.0.1:16060", id: .init(1), at: player.now)
        player.run(actions)
        player.play()
        #expect(
            player.removeActions() == [
                .completed(.init(1), nil), .changed(first, .alerting), .changed(first, .active),
                .changed(first, .ended(.remoteHangUp)),
            ])
        #expect(player.rest == 0)
        let (second, more) = player.follower.dial("5", id: .init(2), at: player.now)
        player.run(more)
        player.say(#"{"response":true,"ok":true,"data":"call id: 1234\n","token":"4"}"#)
        _ = player.takeSent()
        player.request(.end(second, .localHangUp), 3)
        #expect(player.takeSent() == [#"{"command":"callfind","params":"1234","token":"5"}"#])
    }

    @Test func `calls of several accounts are adopted from one list`() throws {
        var player = Player.following(BaresipDialogue.running11)
        let keys = player.keys()
        try #require(keys.count == 2)
        let carol = BaresipPeer(uri: "sip:carol@127.0.0.1:16080", name: nil)
        #expect(
            player.removeActions() == [
                .connect, .note(.following(.v1dot1)), .appeared,
                .added(keys[0], .incoming, ann, .incoming), .changed(keys[0], .active), .changed(keys[0], .held),
                .added(keys[1], .incoming, carol, .incoming), .changed(keys[1], .active),
            ])
        // Resuming one holds the other, in another account.
        player.request(.setHeld(keys[0], false), 1)
        player.play()
        #expect(
            player.removeActions() == [
                .completed(.init(1), nil), .changed(keys[1], .held), .changed(keys[1], .ended(.remoteHangUp)),
            ])
        #expect(player.rest == 0)
    }

    @Test(arguments: [
        ("sip:bob@example.org", "+4930123", "sip:+4930123@example.org"),
        ("sips:bob@example.org:5061;transport=tls", "5", "sips:5@example.org:5061"),
        ("sip:bob@example.org", "sip:5@example.net", "sip:5@example.net"),
        ("sip:bob@example.org", "5@example.net", "5@example.net"),
    ])
    func `the account that dials is chosen by its domain`(account: String, number: String, dialled: String) {
        var player = Player.following(BaresipDialogue.outgoing11, account: account)
        player.run(player.follower.dial(number, id: .init(1), at: player.now).actions)
        #expect(player.takeSent() == [#"{"command":"dial","params":""# + dialled + #"","token":"3"}"#])
    }

    @Test func `the lists of 1.1 are read`() {
        let lines = BaresipListing.lines(
            "\nUser-Agent: bob@127.0.0.1\n--- Active calls (1) ---\n"
                + "> [line 1, id 2d91]  0:00:03  ESTABLISHED  (on hold)  sip:+4930123@127.0.0.1:16060\n\n"
                + "\nUser-Agent: work@127.0.0.1\n--- Active calls (1) ---\n"
                + "  [line 2, id 4bd7]  0:00:00   INCOMING             sip:carol@127.0.0.1:16080\n\n"
                + "  [line 3, id]  0:00:00   INCOMING   sip:carol@127.0.0.1:16080\n [line 4, id 5\n [line\n")
        #expect(lines.map(\.number) == [1, 2])
        #expect(lines.map(\.id) == ["2d91", "4bd7"])
        #expect(lines.map(\.isCurrent) == [true, false])
        #expect(lines.map(\.isOnHold) == [true, false])
        #expect(lines.map(\.state) == [.established, .incoming])
        let accounts = BaresipListing.accounts(
            "\n--- User Agents (2) ---\n0 - sip:bob@127.0.0.1:16070   \n1 - sip:work@127.0.0.1   OK\n\n")
        #expect(accounts.all == ["sip:bob@127.0.0.1:16070", "sip:work@127.0.0.1"])
        #expect(accounts.current == nil)
        #expect(accounts.release == .v1dot1)
        #expect(BaresipListing.accounts("\n--- User Agents (0) ---\n").release == nil)
    }
}
