import BluetoothTypes
import Routing
import Testing

/// The next action, and that it is performed then.
@Suite struct NextActionTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private func policy(_ events: (Int64, RoutingEvent)...) -> RoutingPolicy {
        var policy = RoutingPolicy()
        let start: [(Int64, RoutingEvent)] = [(0, .start), (0, .setPreferred(.bluetooth)), (0, .setDefault(.earpiece))]
        for (time, event) in start + events { _ = policy.handle(event, at: at(time)) }
        return policy
    }

    private func call(_ identifier: String = "c") -> RoutingEvent {
        .callOutgoing(call: identifier, video: false, routes: nil)
    }

    private func next(_ policy: RoutingPolicy, at milliseconds: Int64) -> NextAction? {
        policy.explain(at: at(milliseconds)).next
    }

    private func line(_ policy: RoutingPolicy, at milliseconds: Int64) -> String? {
        policy.explain(at: at(milliseconds)).description.split(separator: "\n").last.map(String.init)
    }

    @Test func `without anything in progress nothing is due`() {
        #expect(line(policy((0, call())), at: 100) == "next: nothing is due")
        #expect(next(policy((0, call())), at: 100) == nil)
    }

    @Test func `a settling headset may take the call when it has settled`() {
        var policy = policy((0, call()), (1000, .headsetConnected(h1, profiles: [.hfp])))
        #expect(line(policy, at: 1450) == "next: bluetooth:\(h1) may take the call in 0.6 s")
        let next = next(policy, at: 1450)
        #expect(next?.kind == .mayTakeCall)
        #expect(next?.device == .headset(h1))
        #expect(next?.remaining == .milliseconds(550))
        _ = policy.handle(.deadlineReached, at: at(2000))
        #expect(policy.pending == .headset(h1, .hfp))
    }

    @Test func `an unwanted headset has no next action`() {
        let policy = policy(
            (0, call()), (10, .select(.earpiece)), (1000, .headsetConnected(h1, profiles: [.hfp])))
        #expect(next(policy, at: 1100) == nil)
    }

    @Test func `a pending link times out, and a local device stands in before that`() {
        var policy = policy((0, .headsetConnected(h1, profiles: [.hfp])), (5000, call()))
        #expect(line(policy, at: 5600) == "next: earpiece stands in in 0.9 s")
        _ = policy.handle(.deadlineReached, at: at(6500))
        #expect(policy.current == .local(.earpiece))
        #expect(line(policy, at: 7000) == "next: attempt 1 of 3 for bluetooth:\(h1) times out in 3.0 s")
        #expect(next(policy, at: 7000)?.word == "timeOut")
        _ = policy.handle(.deadlineReached, at: at(10_000))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(10_050))
        #expect(line(policy, at: 10_200) == "next: attempt 2 of 3 for bluetooth:\(h1) in 0.3 s")
        #expect(
            policy.handle(.deadlineReached, at: at(10_500)).contains(.openLink(h1, .hfp, codecHint: nil, attempt: 2)))
    }

    @Test func `after the last refusal the headset is retried when its pause has ended`() {
        var policy = policy((0, .headsetConnected(h1, profiles: [.hfp])), (5000, call()))
        for time in [5100, 5700, 6800] as [Int64] {
            _ = policy.handle(.deadlineReached, at: at(time - 50))
            _ = policy.handle(.linkFailed(h1, .refused), at: at(time))
        }
        #expect(policy.current == .local(.earpiece))
        #expect(line(policy, at: 12_800) == "next: bluetooth:\(h1) may take the call in 9.0 s")
    }

    @Test func `a silent link is closed, a steady one takes the call again`() {
        var policy = policy((0, .headsetConnected(h1, profiles: [.hfp])), (5000, call()))
        _ = policy.handle(.linkOpened(h1), at: at(5300))
        _ = policy.handle(.linkSilent(h1), at: at(9000))
        #expect(line(policy, at: 9400) == "next: the silent link of bluetooth:\(h1) is closed in 0.6 s")
        _ = policy.handle(.linkResumed(h1), at: at(9500))
        #expect(line(policy, at: 9700) == "next: bluetooth:\(h1) takes the call in 0.3 s")
        _ = policy.handle(.deadlineReached, at: at(10_000))
        #expect(policy.current == .headset(h1, .hfp))
    }

    @Test func `a headset that has just taken the call loses it to the preferred one after its dwell`() {
        var policy = policy(
            (0, .setPreferred(.headset(h1))), (0, .setDefault(.headset(h2))), (0, call()),
            (3500, .headsetConnected(h2, profiles: [.hfp])), (3600, .headsetConnected(h1, profiles: [.hfp])),
            (4500, .deadlineReached), (4550, .linkOpened(h2)), (4600, .deadlineReached))
        #expect(line(policy, at: 5050) == "next: bluetooth:\(h1) may take the call in 1.5 s")
        _ = policy.handle(.deadlineReached, at: at(6550))
        #expect(policy.pending == .headset(h1, .hfp))
        #expect(line(policy, at: 6560) == "next: attempt 1 of 3 for bluetooth:\(h1) when another link is closed")
        #expect(next(policy, at: 6560)?.remaining == nil)
    }

    @Test func `after the last call the music resumes, but not if it was cancelled`() {
        var policy = policy((0, .headsetConnected(h1, profiles: [.hfp, .a2dp])), (5000, call()))
        _ = policy.handle(.linkOpened(h1), at: at(5300))
        _ = policy.handle(.callEnded(call: "c"), at: at(8000))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(8050))
        #expect(line(policy, at: 8800) == "next: bluetooth:\(h1) gets its music back in 1.2 s")
        _ = policy.handle(call("d"), at: at(9000))
        #expect(next(policy, at: 9000)?.word == "standIn")
    }

    @Test func `a jack edge is believed, or moves the call at once`() {
        var policy = policy((0, .setPreferred(.speakerphone)), (0, call()), (1000, .jackPlugged(microphone: true)))
        #expect(line(policy, at: 1050) == "next: the jack is believed to hold a headset in 0.2 s")
        _ = policy.handle(.setPreferred(.none), at: at(1060))
        #expect(line(policy, at: 1100) == "next: wiredHeadset takes the call in 0.1 s")
    }

    @Test func `a deadline before the explanation is due now`() {
        let policy = policy((0, .headsetConnected(h1, profiles: [.hfp])), (5000, call()))
        #expect(line(policy, at: 9000) == "next: earpiece stands in in 0.0 s")
    }
}
