import BaresipControl
import BluetoothTypes
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
}
