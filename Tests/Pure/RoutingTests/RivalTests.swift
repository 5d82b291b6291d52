import BluetoothTypes
import Routing
import Testing

/// Two headsets at a level with any headset: the explanation gives the reason against the other one.
@Suite struct RivalTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

    /// A call since 1 s, on `first`, which connected at 0 s; the other headset connects at 5 s.
    private func policy(
        first: BluetoothAddress, _ configuration: RoutingConfiguration = RoutingConfiguration(),
        category: ClassOfDevice.Category = .headset
    ) -> RoutingPolicy {
        let second = first == h1 ? h2 : h1
        var policy = RoutingPolicy(configuration: configuration)
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.headsetConnected(first, profiles: [.hfp]), at: at(0))
        _ = policy.handle(.callOutgoing(call: "c", video: false, routes: nil), at: at(1000))
        _ = policy.handle(.linkOpened(first), at: at(1300))
        _ = policy.handle(.headsetDescribed(second, category: category, inbandRing: false), at: at(5000))
        _ = policy.handle(.headsetConnected(second, profiles: [.hfp]), at: at(5000))
        return policy
    }

    private func line(_ policy: RoutingPolicy, at milliseconds: Int64) -> String? {
        let lines = policy.explain(at: at(milliseconds)).description.split(separator: "\n")
        return lines.first { $0.dropFirst(2).hasPrefix("2 ") }.map(String.init)
    }

    private func words(_ carried: String, _ first: BluetoothAddress, _ rival: String) -> String {
        "* 2 preferred: bluetooth -> bluetooth:\(first) (hfp) — eligible: carries the call for \(carried), kept 2.0 s; "
            + "not bluetooth:\(first == h1 ? h2 : h1): \(rival)"
    }

    @Test func `the headset that has the call stays, whichever has the lower address`() {
        for first in [h1, h2] {
            #expect(line(policy(first: first), at: 5500) == words("4.2 s", first, "newHeadset is stay"))
        }
    }

    @Test func `a headset that ranks higher is settling`() {
        var configuration = RoutingConfiguration()
        configuration.newHeadset = .take
        for first in [h1, h2] {
            let policy = policy(first: first, configuration)
            #expect(line(policy, at: 5400) == words("4.1 s", first, "settling: stable for 0.4 s of 1.0 s"))
            #expect(
                policy.explain(at: at(5400)).next?.text
                    == "bluetooth:\(first == h1 ? h2 : h1) may take the call in 0.6 s")
        }
    }

    @Test func `the order lists them in their places, or not at all`() {
        var configuration = RoutingConfiguration()
        configuration.newHeadset = .take
        configuration.headsetOrder = [h1, h2]
        #expect(line(policy(first: h1, configuration), at: 9000) == words("7.7 s", h1, "place 2 in headsetOrder"))
        configuration.headsetOrder = [h2]
        #expect(line(policy(first: h2, configuration), at: 9000) == words("7.7 s", h2, "not in headsetOrder"))
    }

    @Test func `a loudspeaker does not count, and without a second headset there is no rival`() {
        var policy = policy(first: h1, category: .speaker)
        #expect(line(policy, at: 9000) == words("7.7 s", h1, "it is a loudspeaker or a watch, or declines calls"))
        _ = policy.handle(.headsetDisconnected(h2), at: at(9000))
        #expect(line(policy, at: 9000)?.hasSuffix("kept 2.0 s") == true)
    }

    @Test
    func `before a call the later headset is chosen, of two simultaneous ones that with the lower address`() {
        var policy = RoutingPolicy()
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0))
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(0))
        #expect(
            line(policy, at: 100)?.hasSuffix(
                "; not bluetooth:\(h2): it came at the same time and has the higher address") == true)
        _ = policy.handle(.headsetDisconnected(h1), at: at(200))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(300))
        #expect(line(policy, at: 400)?.hasSuffix("; not bluetooth:\(h2): it came earlier") == true)
    }

    @Test func `a level that names one headset has no rival`() throws {
        var policy = policy(first: h1)
        _ = policy.handle(.setPreferred(.headset(h1)), at: at(6000))
        let levels = policy.explain(at: at(7000)).levels
        #expect(try #require(levels.first { $0.level == .preferred }).rival == nil)
        #expect(try #require(levels.first { $0.level == .platformOrder }).rival?.address == h2)
    }
}
