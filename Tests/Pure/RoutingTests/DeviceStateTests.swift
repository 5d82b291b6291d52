import BluetoothTypes
import Routing
import Testing

/// State of a device towards the calls, in one word, at every stage of a call.
@Suite struct DeviceStateTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    private func policy(_ configure: (inout RoutingConfiguration) -> Void = { _ in }) -> RoutingPolicy {
        var configuration = RoutingConfiguration()
        configure(&configuration)
        var policy = RoutingPolicy(configuration: configuration)
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.setDefault(.earpiece), at: at(0))
        return policy
    }

    private func call(_ routes: [DeviceKind]? = nil) -> RoutingEvent {
        .callOutgoing(call: "c", video: false, routes: routes)
    }

    @Test func `a headset settles, is pending, active, silent, and available again`() {
        var policy = policy()
        func state(_ time: Int64) -> DeviceState { policy.state(of: .headset(h1), at: at(time)) }
        #expect(state(0) == .unavailable)
        _ = policy.handle(call(), at: at(0))
        #expect(policy.state(of: .earpiece, at: at(0)) == .active)
        #expect(policy.state(of: .speakerphone, at: at(0)) == .available)
        #expect(policy.state(of: .wiredHeadset, at: at(0)) == .unavailable)
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(1000))
        #expect(state(1500) == .settling)
        #expect(policy.nextStateChange(after: at(1500)) == at(2000))
        _ = policy.handle(.deadlineReached, at: at(2000))
        #expect(state(2000) == .pending)
        _ = policy.handle(.linkOpened(h1), at: at(2300))
        #expect(state(2300) == .active)
        #expect(policy.state(of: .earpiece, at: at(2300)) == .available)
        _ = policy.handle(.linkSilent(h1), at: at(9000))
        #expect(state(9000) == .silent)
        #expect(policy.state(of: .earpiece, at: at(9000)) == .active)
        _ = policy.handle(.linkResumed(h1), at: at(9100))
        #expect(state(9100) == .silent)
        _ = policy.handle(.callEnded(call: "c"), at: at(9200))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(9250))
        #expect(state(9250) == .available)
    }

    @Test func `a headset whose link fails is paused, and the pause ends without an event`() {
        var policy = policy { $0.openAttempts = 1 }
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0))
        _ = policy.handle(call(), at: at(5000))
        #expect(policy.state(of: .headset(h1), at: at(5000)) == .pending)
        _ = policy.handle(.linkFailed(h1, .refused), at: at(5300))
        #expect(policy.state(of: .headset(h1), at: at(5300)) == .penalty)
        _ = policy.handle(.callEnded(call: "c"), at: at(6000))
        #expect(policy.state(of: .headset(h1), at: at(20_299)) == .penalty)
        #expect(policy.nextStateChange(after: at(6000)) == at(20_300))
        #expect(policy.state(of: .headset(h1), at: at(20_300)) == .available)
        #expect(policy.nextStateChange(after: at(20_300)) == nil)
    }

    @Test func `a second headset waits while the first has just taken the call`() {
        var policy = policy {
            $0.newHeadset = .take
            $0.minDwell = .milliseconds(5000)
        }
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0))
        _ = policy.handle(call(), at: at(5000))
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(5100))
        _ = policy.handle(.linkOpened(h1), at: at(5300))
        #expect(policy.state(of: .headset(h2), at: at(6000)) == .settling)
        #expect(policy.state(of: .headset(h2), at: at(6100)) == .waiting)
        #expect(policy.nextStateChange(after: at(6100)) == at(10_300))
        _ = policy.handle(.deadlineReached, at: at(10_300))
        #expect(policy.state(of: .headset(h2), at: at(10_300)) == .pending)
    }

    @Test func `a device that the call does not support is unsupported, an excluded one unavailable`() {
        var policy = policy { $0.exclude = [.headset(BluetoothAddress(value: 0x001B_DC08_0012))] }
        for headset in [h1, h2] { _ = policy.handle(.headsetConnected(headset, profiles: [.hfp]), at: at(0)) }
        _ = policy.handle(call([.earpiece]), at: at(5000))
        #expect(policy.state(of: .headset(h1), at: at(5000)) == .unsupported)
        #expect(policy.state(of: .headset(h2), at: at(5000)) == .unavailable)
        #expect(policy.state(of: .speakerphone, at: at(5000)) == .unsupported)
        #expect(policy.state(of: .earpiece, at: at(5000)) == .active)
    }

    @Test func `no two choices have the same number, and without a choice there is none`() {
        var policy = policy()
        #expect(policy.choiceSequence == nil)
        var numbers: Set<Int> = []
        for (time, device) in [AudioDevice.earpiece, .speakerphone, .speakerphone].enumerated() {
            _ = policy.handle(.select(device), at: at(Int64(time)))
            if let number = policy.choiceSequence { numbers.insert(number) }
        }
        #expect(numbers.count == 3)
        _ = policy.handle(.clearSelection, at: at(10))
        #expect(policy.choiceSequence == nil)
    }
}
