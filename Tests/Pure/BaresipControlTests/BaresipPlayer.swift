import BaresipControl
import BluetoothTypes
import Telephony
import Testing

/// Plays a dialogue: feeds baresip's lines to the follower and expects the follower to send the controller's lines.
struct BaresipPlayer {
    var follower: BaresipFollower
    var now = Instant(nanoseconds: 1_000_000_000)
    /// Actions without sent bytes.
    var actions: [BaresipFollower.Action] = []
    private var sent: [String] = []
    private var lines: [Substring]

    init(_ dialogue: String = "", account: String? = nil) {
        follower = BaresipFollower(account: account)
        lines = dialogue.split(separator: "\n")
    }

    mutating func run(_ found: [BaresipFollower.Action]) {
        for action in found {
            if case .send(let command, let parameters, let token) = action {
                let part = parameters.map { ",\"params\":\"\($0)\"" } ?? ""
                sent.append("{\"command\":\"\(command)\"\(part),\"token\":\"\(token)\"}")
            } else {
                actions.append(action)
            }
        }
    }

    mutating func connect() {
        run(follower.start(at: now))
        run(follower.connected(at: now))
    }

    /// Continues until the follower has to receive a request, or the dialogue ends.
    mutating func play(sourceLocation: SourceLocation = #_sourceLocation) {
        while let line = lines.first {
            if line.hasPrefix("< ") {
                lines.removeFirst()
                say(String(line.dropFirst(2)))
            } else {
                guard !sent.isEmpty else { return }
                lines.removeFirst()
                #expect(sent.removeFirst() == line.dropFirst(2), sourceLocation: sourceLocation)
            }
        }
    }

    mutating func say(_ text: String) {
        run(follower.received(NetstringReader.frame(text), at: now))
    }

    /// Number of remaining lines.
    var rest: Int { lines.count }

    mutating func takeSent() -> [String] {
        defer { sent = [] }
        return sent
    }

    mutating func removeActions() -> [BaresipFollower.Action] {
        defer { actions = [] }
        return actions
    }

    mutating func request(_ request: BaresipFollower.Request, _ id: UInt64) {
        run(follower.request(request, id: .init(id), at: now))
    }

    /// The reported calls.
    func keys() -> [BaresipFollower.CallKey] {
        actions.compactMap { action in
            if case .added(let key, _, _, _) = action { key } else { nil }
        }
    }

    mutating func pass(_ time: Duration) {
        now = now.advanced(by: time)
        run(follower.deadlineReached(at: now))
    }

    /// A player that has played the dialogue's beginning.
    static func following(_ dialogue: String, account: String? = nil) -> BaresipPlayer {
        var player = BaresipPlayer(dialogue, account: account)
        player.connect()
        player.play()
        return player
    }

    /// Plays a dialogue in which a call comes in, is answered, held, resumed, given tones, muted and ended, and checks what
    /// the follower reports at each step.
    static func useIncomingCall(_ dialogue: String, from peer: BaresipPeer, _ release: BaresipRelease) throws {
        var player = following(dialogue)
        let key = try #require(player.keys().first)
        #expect(
            player.removeActions() == [
                .connect, .note(.following(release)), .appeared, .added(key, .incoming, peer, .incoming),
            ])
        player.request(.answer(key), 1)
        player.play()
        // Not before baresip reports the call as established.
        #expect(player.removeActions() == [.changed(key, .active), .completed(.init(1), nil)])
        player.request(.setHeld(key, true), 2)
        player.play()
        // baresip does not report the far end's hold, which follows.
        #expect(player.removeActions() == [.completed(.init(2), nil)])
        player.request(.setHeld(key, false), 3)
        player.play()
        #expect(player.removeActions() == [.completed(.init(3), nil)])
        player.request(.sendTones(key, "5#"), 4)
        player.play()
        player.request(.setMuted(key, true), 5)
        player.play()
        #expect(player.removeActions() == [.completed(.init(4), nil), .completed(.init(5), nil)])
        player.request(.end(key, .localHangUp), 6)
        player.play()
        #expect(player.removeActions() == [.changed(key, .ended(.localHangUp)), .completed(.init(6), nil)])
        #expect(player.rest == 0)
        #expect(player.takeSent() == [])
        #expect(player.follower.deadline == nil)
    }
}
