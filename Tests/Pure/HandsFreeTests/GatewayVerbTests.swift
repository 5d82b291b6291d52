import ControlLoop
import Testing

/// `btcall-lab gateway` against its own machine: the same dialogues, over sockets, in real time.
/// They take some seconds; to begin and to end, the test waits for a thread of those that compute other tests.
@Suite(.timeLimit(.minutes(10))) @ControlPlane struct GatewayVerbTests {
    /// Number of simultaneous dialogues: they mostly wait, but none may wait for another.
    private static let width = 12
    /// A busy machine answers late, so that a timer runs out unexpectedly: dialogues that failed among others are retried
    /// alone.
    private static let attempts = 3

    @Test func `the verb keeps the dialogues over its sockets, as the machine does`() async {
        var held = 0
        var reasons: [String: Int] = [:]
        for (dialogue, outcome) in await Self.play(DialogueTests.all) {
            var last = outcome
            for _ in 1..<Self.attempts {
                guard case .mismatch = last else { break }
                last = await VerbPlayer.play(dialogue)
            }
            switch last {
            case .held: held += 1
            case .notPlayed(let why): reasons[why, default: 0] += 1
            case .mismatch(let text): Issue.record("\(text)")
            }
        }
        #expect(held >= 260, "not played: \(reasons.sorted { $0.key < $1.key })")
    }

    /// On the control loop alone: the pool's threads compute other tests, and each visit to them would wait for their end.
    private static func play(_ dialogues: [Dialogue]) async -> [(Dialogue, VerbPlayer.Outcome)] {
        let lanes = (0..<width).map { lane in
            Task {
                var results: [(Dialogue, VerbPlayer.Outcome)] = []
                for index in stride(from: lane, to: dialogues.count, by: width) {
                    results.append((dialogues[index], await VerbPlayer.play(dialogues[index])))
                }
                return results
            }
        }
        var results: [(Dialogue, VerbPlayer.Outcome)] = []
        for lane in lanes { results += await lane.value }
        return results
    }
}
