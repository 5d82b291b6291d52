import BluetoothTypes
import Routing
import Testing

@Suite struct ExplanationTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// In a call on the earpiece, preferring headsets, without one.
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

    @Test func `without a headset the fallback is chosen and the preferred level gives the reason`() {
        let text = policyInCall().explain(at: at(2500)).description
        #expect(
            text == """
                route: earpiece (callStarted, 2.5 s ago)
                  0 jack plugged after the choice — no explicit choice
                  1 explicit choice — no explicit choice
                  1a jack, latched — jackGesture is not latched
                  2 preferred: bluetooth — not connected
                  3 jack plugged during the call — nothing was plugged during the call
                * 4 fallback: earpiece — eligible
                  5 platform order -> earpiece — eligible
                next: nothing is due
                """)
        // On the bus the level has the name of `Router1.Default`.
        #expect(RoutingLevel.default.name == "default")
    }

    @Test func `a settling headset shows how long it has been stable, and how long it must be`() throws {
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

    @Test(arguments: [
        (LinkFailure.refused, "3 refused"), (.busy, "3 busy: another program has its voice link"),
    ])
    func `a failing headset shows its pause, and that another program has its voice link`(
        failure: LinkFailure, words: String
    ) throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        for time in [6000, 6600, 7700] as [Int64] {
            _ = policy.handle(.deadlineReached, at: at(time))
            _ = policy.handle(.linkFailed(h1, failure), at: at(time + 100))
        }
        let preferred = try #require(policy.explain(at: at(14_100)).levels.first { $0.level == .preferred })
        #expect(preferred.verdict.text == "penalty 9 s: \(words)")
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

    @Test func `a headset that has just taken the call is shown as the reason for another one's wait`() throws {
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
    func `the reason for suspended levels comes first`(_ event: RoutingEvent, _ suspension: Explanation.Suspension) {
        var policy = policyInCall()
        #expect(policy.explain(at: at(10)).suspension == nil)
        _ = policy.handle(event, at: at(20))
        let explanation = policy.explain(at: at(30))
        #expect(explanation.suspension == suspension)
        #expect(explanation.description.contains("not decided by the levels: \(suspension.text)"))
    }

    @Test func `unusable headsets show what is missing`() throws {
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

    // MARK: Values and limits

    private func preferred(_ policy: RoutingPolicy, at milliseconds: Int64) throws -> LevelFinding {
        try #require(policy.explain(at: at(milliseconds)).levels.first { $0.level == .preferred })
    }

    private func expect(
        _ finding: LevelFinding, _ text: String, _ value: Int64, _ limit: Int64,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        #expect(finding.verdict.text == text, sourceLocation: sourceLocation)
        #expect(finding.verdict.measure?.value == value, sourceLocation: sourceLocation)
        #expect(finding.verdict.measure?.limit == limit, sourceLocation: sourceLocation)
    }

    private func route(_ policy: RoutingPolicy, at milliseconds: Int64) -> String? {
        policy.explain(at: at(milliseconds)).description.split(separator: "\n").first.map(String.init)
    }

    /// In a call on the first headset for 6.3 s.
    private func policyOnHeadset(silentLimit: Duration = .zero) -> RoutingPolicy {
        var policy = policyInCall()
        var configuration = RoutingConfiguration()
        configuration.silentLimit = silentLimit
        _ = policy.handle(.configure(configuration), at: at(0))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        _ = policy.handle(.deadlineReached, at: at(6000))
        _ = policy.handle(.linkOpened(h1), at: at(6300))
        return policy
    }

    @Test func `the four steps, each with value and limit where something is measured`() {
        var policy = policyInCall()
        var configuration = RoutingConfiguration()
        configuration.silentLimit = .milliseconds(200)
        for event: RoutingEvent in [
            .configure(configuration),
            .headsetDescribed(h1, category: .headset, inbandRing: true),
            .headsetDescribed(h2, category: .headset, inbandRing: true),
        ] {
            _ = policy.handle(event, at: at(0))
        }
        func text(_ milliseconds: Int64) -> String { policy.explain(at: at(milliseconds)).description }
        func page(_ route: String, chosen: RoutingLevel, preferred: String, platform: String) -> String {
            """
            route: \(route)
              0 jack plugged after the choice — no explicit choice
              1 explicit choice — no explicit choice
              1a jack, latched — jackGesture is not latched
            \(chosen == .preferred ? "*" : " ") 2 preferred: bluetooth -> \(preferred)
              3 jack plugged during the call — nothing was plugged during the call
            \(chosen == .default ? "*" : " ") 4 fallback: earpiece — eligible
              5 platform order -> \(platform)
            next: nothing is due
            """
        }

        // 1
        #expect(
            text(3000)
                == page(
                    "earpiece (callStarted, 3.0 s ago)", chosen: .default,
                    preferred: "bluetooth:\(h1) (hfp) — not connected: must be stable for 1.0 s when it comes",
                    platform: "earpiece — eligible"))

        // 2
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        _ = policy.handle(.deadlineReached, at: at(6000))
        _ = policy.handle(.linkOpened(h1), at: at(6300))
        let first = "bluetooth:\(h1) (hfp) — eligible: carries the call for 3.0 s, kept 2.0 s"
        #expect(
            text(9300)
                == page(
                    "bluetooth:\(h1) (hfp) (newDeviceAvailable, 3.0 s ago)", chosen: .preferred, preferred: first,
                    platform: first))

        // 3: silent, closed, and gone when the connection's supervision times out
        _ = policy.handle(.linkSilent(h1), at: at(10_000))
        _ = policy.handle(.deadlineReached, at: at(11_000))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(11_050))
        _ = policy.handle(.headsetDisconnected(h1), at: at(12_000))
        #expect(
            text(16_000)
                == page(
                    "earpiece (linkSilent after 200 ms without a packet, 6.0 s ago)", chosen: .default,
                    preferred: "bluetooth:\(h1) (hfp) — not connected: lost 4.0 s ago,"
                        + " must be stable for 2.0 s on return",
                    platform: "earpiece — eligible"))

        // 4
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(17_000))
        _ = policy.handle(.deadlineReached, at: at(18_000))
        _ = policy.handle(.linkOpened(h2), at: at(18_300))
        let second = "bluetooth:\(h2) (hfp) — eligible: carries the call for 3.5 s, kept 2.0 s"
        #expect(
            text(21_800)
                == page(
                    "bluetooth:\(h2) (hfp) (newDeviceAvailable, 3.5 s ago)", chosen: .preferred, preferred: second,
                    platform: second))
    }

    @Test func `an eligible headset shows how long it has been stable, and a limit only until it has settled`() throws {
        var policy = policyInCall()
        _ = policy.handle(.select(.earpiece), at: at(0))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        expect(try preferred(policy, at: 12_200), "eligible: stable for 7.2 s", 7200, 1000)
        _ = policy.handle(.callEnded(call: "c"), at: at(13_000))
        _ = policy.handle(.headsetDisconnected(h1), at: at(14_000))
        #expect(try preferred(policy, at: 14_000).verdict.text == "not connected")
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(15_000))
        expect(
            try preferred(policy, at: 15_400),
            "eligible: stable for 0.4 s of 1.0 s, not required while nothing is open", 400, 1000)
        expect(try preferred(policy, at: 16_000), "eligible: stable for 1.0 s", 1000, 1000)
        // A choice made at once leaves a limit that would read as 0.0 s.
        _ = policy.handle(.headsetDisconnected(h1), at: at(20_000))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(21_000))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(21_020))
        expect(try preferred(policy, at: 21_320), "eligible: stable for 0.3 s", 320, 20)
    }

    @Test func `a headset that is absent or was lost shows how long it must be stable`() throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetDescribed(h1, category: .headset, inbandRing: true), at: at(0))
        expect(try preferred(policy, at: 100), "not connected: must be stable for 1.0 s when it comes", 0, 1000)
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        _ = policy.handle(.headsetDisconnected(h1), at: at(5500))
        expect(
            try preferred(policy, at: 9500), "not connected: lost 4.0 s ago, must be stable for 2.0 s on return", 4000,
            2000)
        #expect(try preferred(policy, at: 9500).verdict.word == "lost")
        // The next action that the text promises is performed.
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(10_000))
        expect(try preferred(policy, at: 10_500), "settling: stable for 0.5 s of 2.0 s", 500, 2000)
        _ = policy.handle(.headsetDisconnected(h1), at: at(11_000))
        expect(
            try preferred(policy, at: 11_000), "not connected: lost 0.0 s ago, must be stable for 4.0 s on return", 0,
            4000)
        // A loss is forgotten with the flap window.
        expect(try preferred(policy, at: 41_000), "not connected: must be stable for 1.0 s when it comes", 0, 1000)
    }

    @Test func `a pending link shows its attempt, its elapsed time and its limit`() throws {
        var policy = policyInCall()
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(5000))
        _ = policy.handle(.deadlineReached, at: at(6000))
        expect(try preferred(policy, at: 6400), "eligible: pending, attempt 1 of 3, 0.4 s of 5.0 s", 400, 5000)
        _ = policy.handle(.linkFailed(h1, .refused), at: at(6500))
        expect(
            try preferred(policy, at: 6700), "eligible: pending, attempt 2 of 3 after a pause, 0.2 s of 0.5 s", 200, 500
        )
        _ = policy.handle(.deadlineReached, at: at(7000))
        #expect(
            route(policy, at: 10_100)
                == "route: earpiece (callStarted, 10.1 s ago), pending: bluetooth:\(h1) (hfp)"
                + " (attempt 2 of 3, 3.1 s of 5.0 s)")
        #expect(policy.explain(at: at(10_100)).pendingStanding?.measure.value == 3100)
    }

    @Test func `a link that waits for another one to close shows its attempt`() throws {
        var policy = policyOnHeadset()
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(7000))
        _ = policy.handle(.select(.headset(h2)), at: at(9000))
        let choice = try #require(policy.explain(at: at(9020)).levels.first { $0.level == .explicitChoice })
        expect(choice, "eligible: pending, attempt 1 of 3 when another link is closed", 1, 3)
    }

    @Test func `a gap without a path shows its length and when a local device stands in`() {
        var policy = policyOnHeadset()
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(7000))
        _ = policy.handle(.select(.headset(h2)), at: at(9000))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(9050))
        let pending = "pending: bluetooth:\(h2) (hfp)"
        #expect(
            route(policy, at: 9350)
                == "route: none (switching, 0.3 s ago), no path for 0.3 s of 1.5 s, \(pending)"
                + " (attempt 1 of 3, 0.3 s of 5.0 s)")
        let gap = policy.explain(at: at(9350)).gap
        #expect(gap?.value == .milliseconds(350))
        #expect(gap?.limit == .milliseconds(1500))
        _ = policy.handle(.deadlineReached, at: at(10_500))
        #expect(
            route(policy, at: 11_050)
                == "route: earpiece (bridge after 1.5 s without a path, 0.5 s ago), \(pending)"
                + " (attempt 1 of 3, 2.0 s of 5.0 s)")
        #expect(policy.explain(at: at(11_050)).gap == nil)
    }

    @Test func `a lost link that is reopened shows the shorter wait`() {
        var policy = policyOnHeadset()
        _ = policy.handle(.linkClosed(h1, .linkLoss), at: at(9000))
        #expect(
            route(policy, at: 9200)
                == "route: none (linkLoss, 0.2 s ago), no path for 0.2 s of 0.5 s, pending: bluetooth:\(h1) (hfp)"
                + " (attempt 1 of 3, 0.2 s of 5.0 s)")
        _ = policy.handle(.deadlineReached, at: at(9500))
        #expect(
            route(policy, at: 9600)
                == "route: earpiece (bridge after 0.5 s without a path, 0.1 s ago), pending: bluetooth:\(h1) (hfp)"
                + " (attempt 1 of 3, 0.6 s of 5.0 s)")
    }

    @Test func `a silent link that is kept shows its silence and, later, its packets`() throws {
        var policy = policyOnHeadset(silentLimit: .milliseconds(200))
        _ = policy.handle(.linkSilent(h1), at: at(9000))
        expect(try preferred(policy, at: 9400), "eligible: silent for 0.4 s, closed after 1.0 s", 400, 1000)
        #expect(route(policy, at: 9400) == "route: earpiece (linkSilent after 200 ms without a packet, 0.4 s ago)")
        _ = policy.handle(.linkResumed(h1), at: at(9500))
        expect(try preferred(policy, at: 9700), "eligible: packets again for 0.2 s of 0.5 s", 200, 500)
        _ = policy.handle(.deadlineReached, at: at(10_000))
        expect(try preferred(policy, at: 10_100), "eligible: carries the call for 0.1 s, kept 2.0 s", 100, 2000)
        #expect(route(policy, at: 10_100) == "route: bluetooth:\(h1) (hfp) (linkSilent, 0.1 s ago)")
    }

    @Test func `an adaptive silence limit is not named`() {
        var policy = policyOnHeadset()
        _ = policy.handle(.linkSilent(h1), at: at(9000))
        #expect(route(policy, at: 9400) == "route: earpiece (linkSilent, 0.4 s ago)")
        #expect(policy.explain(at: at(9400)).reasonLimit == nil)
    }
}
