import BluetoothTypes
import Routing
import Testing

/// The device that would take over from the calls' headset. `InvariantTests` compares it with what does.
@Suite struct StandInTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// A headset since 0 s, and a call since 1 s whose link opened at 1.3 s.
    private func policy(
        default standard: AudioDevice = .earpiece, routes: [DeviceKind]? = nil,
        _ configure: (inout RoutingConfiguration) -> Void = { _ in }
    ) -> RoutingPolicy {
        var configuration = RoutingConfiguration()
        configure(&configuration)
        var policy = RoutingPolicy(configuration: configuration)
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.setDefault(standard), at: at(0))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0))
        _ = policy.handle(.callOutgoing(call: "c", video: false, routes: routes), at: at(1000))
        _ = policy.handle(.linkOpened(h1), at: at(1300))
        return policy
    }

    @Test func `the default stands in for a headset, and carries the call when the headset falls silent`() {
        for standard in [AudioDevice.earpiece, .speakerphone] {
            var policy = policy(default: standard)
            #expect(policy.current == .headset(h1, .hfp))
            #expect(policy.standIn(at: at(2000)) == standard.local)
            _ = policy.handle(.linkSilent(h1), at: at(2000))
            #expect(policy.current?.local == standard.local)
            #expect(policy.standIn(at: at(2000)) == nil)
        }
    }

    @Test func `it is the device that the call supports, that is present and that nobody excludes`() {
        #expect(policy(routes: [.bluetooth, .speakerphone]).standIn(at: at(2000)) == .speakerphone)
        #expect(policy(routes: [.bluetooth]).standIn(at: at(2000)) == nil)
        var excluding = policy { $0.exclude = [.earpiece] }
        #expect(excluding.standIn(at: at(2000)) == .speakerphone)
        _ = excluding.handle(.localLost(.speakerphone), at: at(2000))
        #expect(excluding.standIn(at: at(2000)) == nil)
        _ = excluding.handle(.localFound(.speakerphone), at: at(3000))
        #expect(excluding.standIn(at: at(3000)) == .speakerphone)
    }

    @Test func `a plugged jack stands in where it would take the call`() {
        var policy = policy(default: .none)
        #expect(policy.standIn(at: at(2000)) == .earpiece)
        _ = policy.handle(.jackPlugged(microphone: true), at: at(2000))
        _ = policy.handle(.deadlineReached, at: at(2200))
        #expect(policy.current == .headset(h1, .hfp))
        #expect(policy.standIn(at: at(2200)) == .wiredHeadset)
    }

    @Test func `nothing stands in without a call, on a device of the board, and while a call only rings`() {
        var policy = policy()
        _ = policy.handle(.callEnded(call: "c"), at: at(3000))
        #expect(policy.standIn(at: at(3000)) == nil)
        _ = policy.handle(.linkClosed(h1, .requested), at: at(3100))
        _ = policy.handle(.callIncoming(call: "d", video: false, routes: nil), at: at(9000))
        _ = policy.handle(.linkOpened(h1), at: at(9300))
        #expect(policy.standIn(at: at(9300)) == nil)
        _ = policy.handle(.callAnswered(call: "d", via: nil), at: at(9500))
        #expect(policy.current == .headset(h1, .hfp) && policy.standIn(at: at(9500)) == .earpiece)
        _ = policy.handle(.select(.earpiece), at: at(9600))
        #expect(policy.current == .local(.earpiece) && policy.standIn(at: at(9600)) == nil)
    }

    @Test func `while a lost link is opened again, the device that bridges the wait still stands in`() {
        var policy = policy()
        _ = policy.handle(.linkClosed(h1, .linkLoss), at: at(5000))
        #expect(policy.current == nil && policy.pending == .headset(h1, .hfp))
        #expect(policy.standIn(at: at(5000)) == .earpiece)
        _ = policy.handle(.deadlineReached, at: at(5500))
        #expect(policy.current == .local(.earpiece) && policy.standIn(at: at(5500)) == nil)
    }

    @Test func `a call that begins waits for its first link without a stand-in`() {
        var policy = RoutingPolicy()
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0))
        _ = policy.handle(.callOutgoing(call: "c", video: false, routes: nil), at: at(5000))
        #expect(policy.pending == .headset(h1, .hfp) && policy.standIn(at: at(5000)) == nil)
    }
}
