import BaresipControl
import BluetoothTypes
import Telephony

/// Bytes from the other end of baresip's connection, in one piece and one by one; each reported call then receives a
/// request.
enum BaresipTarget {
    static func run(_ input: [UInt8]) throws(BrokenRule) {
        let whole = try play([input])
        let bytes = try play(input.map { [$0] })
        try require(whole == bytes, "the cut of the stream matters: \(whole) and \(bytes)")
    }

    /// - Returns: all actions of the follower.
    private static func play(_ pieces: [[UInt8]]) throws(BrokenRule) -> [BaresipFollower.Action] {
        let start = Instant(nanoseconds: 0)
        var follower = BaresipFollower()
        var done = follower.start(at: start)
        done += follower.connected(at: start)
        for piece in pieces { done += follower.received(piece, at: start) }
        var asked = 0
        for action in done {
            guard case .added(let key, _, _, _) = action else { continue }
            let requests: [BaresipFollower.Request] = [
                .answer(key), .setHeld(key, true), .setMuted(key, true), .sendTones(key, "1"), .end(key, .localHangUp),
            ]
            done += follower.request(requests[asked % requests.count], id: .init(UInt64(asked)), at: start)
            asked += 1
        }
        // The same again: now it answers pending commands.
        for piece in pieces { done += follower.received(piece, at: start) }
        if let deadline = follower.deadline {
            try require(deadline > start, "nothing is due at once")
            done += follower.deadlineReached(at: deadline)
        }
        done += follower.stop()
        try require(follower.deadline == nil, "nothing is waited for after the end")
        var ends = [Int](repeating: 0, count: asked)
        var commands = 0
        for action in done {
            switch action {
            case .completed(let id, _): ends[Int(id.value)] += 1
            case .send(let command, let parameters, _):
                commands += 1
                try require(!command.isEmpty && (parameters?.utf8.count ?? 0) <= NetstringReader.maximumBytes, command)
            case .connect, .disconnect, .appeared, .vanished, .added, .changed, .note: break
            }
        }
        try require(ends.allSatisfy { $0 == 1 }, "every request has one end: \(ends)")
        let messages = pieces.reduce(0) { $0 + $1.count }
        try require(commands <= 2 + 2 * messages, "\(commands) commands for \(messages) bytes")
        return done
    }
}
