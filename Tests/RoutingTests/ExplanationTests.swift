import BluetoothTypes
import Routing
import Testing

@Suite struct ExplanationTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// In a call on the earpiece, preferring headsets, none there.
    private func policyInCall() -> RoutingPolicy {
        var policy = RoutingPolicy()
        for event: RoutingEvent in [
            .start, .setPreferred(.bluetooth), .setDefault(.earpiece),
            .callOutgoing(call: "c", video: false, routes: nil),
        ] {
            _ = policy.handle(event, at: at(0))
        }
        return policy
    }

    @Test func `without a headset the default is chosen and the preferred level says why not`() {
        let text = policyInCall().explain(at: at(2500)).description
        #expect(
            text == """
                route: earpiece (callStarted, 2.5 s ago)
                  0 jack plugged after the choice — no explicit choice
                  1 explicit choice — no explicit choice
                  1a jack, latched — jackGesture is not latched
                  2 preferred: bluetooth — not connected
                  3 jack plugged during the call — nothing was plugged during the call
                * 4 default: earpiece — eligible
                  5 platform order -> earpiece — eligible
                """)
    }

    @Test func `a settling headset shows for how long it has been stable, and how long it must be`() throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        let explanation = policy.explain(at: at(5600))
        let preferred = try #require(explanation.levels.first { $0.level == .preferred })
        #expect(preferred.candidate == .headset(h1, .hfp))
        #expect(preferred.verdict.text == "settling: stable for 0.6 s of 1.0 s")
        #expect(preferred.verdict.word == "settling")
        #expect(preferred.verdict.measure?.value == 600)
        #expect(preferred.verdict.measure?.limit == 1000)
        #expect(explanation.chosen == .default)
    }

    @Test func `a refusing headset shows its pause`() throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        for time in [6000, 6600, 7700] as [Int64] {
            _ = policy.handle(.deadlineReached, at: at(time))
            _ = policy.handle(.linkFailed(h1, .refused), at: at(time + 100))
        }
        let preferred = try #require(policy.explain(at: at(14_100)).levels.first { $0.level == .preferred })
        #expect(preferred.verdict.text == "penalty 9 s: 3 refused")
    }

    @Test func `a choice shows how it was made and when`() throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        _ = policy.handle(.deadlineReached, at: at(6000))
        _ = policy.handle(.linkOpened(h1), at: at(6300))
        _ = policy.handle(.linkClosed(h1, .remote), at: at(8300))
        let explanation = policy.explain(at: at(20_300))
        let choice = try #require(explanation.levels.first { $0.level == .explicitChoice })
        #expect(choice.spec == "local")
        #expect(choice.candidate == .local(.earpiece))
        #expect(choice.note == "user moved audio to local with the headset button 12.0 s ago")
        #expect(explanation.chosen == .explicitChoice)
        #expect(explanation.reason == .headsetTransfer)
        #expect(
            explanation.description.contains(
                "* 1 explicit choice: local -> earpiece — eligible"
                    + " (user moved audio to local with the headset button 12.0 s ago)"))
    }

    @Test func `a headset that just got the call is shown as what another one waits for`() throws {
        var policy = policyInCall()
        _ = policy.handle(.setPreferred(.headset(h1)), at: at(0))
        _ = policy.handle(.setDefault(.headset(h2)), at: at(0))
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(3500))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(3600))
        _ = policy.handle(.deadlineReached, at: at(4500))
        _ = policy.handle(.linkOpened(h2), at: at(4550))
        _ = policy.handle(.deadlineReached, at: at(4600))
        #expect(policy.current == .headset(h2, .hfp))
        let preferred = try #require(policy.explain(at: at(5050)).levels.first { $0.level == .preferred })
        #expect(preferred.candidate == .headset(h1, .hfp))
        #expect(preferred.verdict.text == "bluetooth:\(h2) has had the call for 0.5 s of 2.0 s")
        #expect(preferred.verdict.word == "dwell")
    }

    @Test(arguments: [
        (RoutingEvent.stop, Explanation.Suspension.stopped), (.callEnded(call: "c"), .noCall),
        (.interruptionBegan(source: "modem"), .interrupted),
    ])
    func `what suspends the levels is said first`(_ event: RoutingEvent, _ suspension: Explanation.Suspension) {
        var policy = policyInCall()
        #expect(policy.explain(at: at(10)).suspension == nil)
        _ = policy.handle(event, at: at(20))
        let explanation = policy.explain(at: at(30))
        #expect(explanation.suspension == suspension)
        #expect(explanation.description.contains("not decided by the levels: \(suspension.text)"))
    }

    @Test func `unusable headsets say what is missing`() throws {
        var policy = policyInCall()
        _ = policy.handle(.setPreferred(.headset(h1)), at: at(0))
        func verdict() -> String? {
            policy.explain(at: at(100)).levels.first { $0.level == .preferred }?.verdict.text
        }
        #expect(verdict() == "not connected")
        _ = policy.handle(.headsetConnected(h1, profiles: [.a2dp]), at: at(10))
        #expect(verdict() == "A2DP only and allowBluetoothA2DP is off")
        _ = policy.handle(.adapterPowered(false), at: at(20))
        #expect(verdict() == "adapter is off")
        _ = policy.handle(.adapterPowered(true), at: at(30))
        var configuration = RoutingConfiguration()
        configuration.exclude = [.bluetooth]
        _ = policy.handle(.configure(configuration), at: at(40))
        #expect(verdict() == "excluded")
    }
}
