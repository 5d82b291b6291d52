import BluetoothTypes
import Routing
import Testing

/// Events in, effects out, compared whole.
@Suite struct RoutingPolicyTests {
    private let h1 = BluetoothAddress(value: 0x001B_DC08_0011)
    private let h2 = BluetoothAddress(value: 0x001B_DC08_0012)

    private func at(_ milliseconds: Int64) -> Instant { Instant(milliseconds: milliseconds) }

    /// Started, preferring headsets, with earpiece as default and one settled headset.
    private func policy(connected: Bool = true) -> RoutingPolicy {
        var policy = RoutingPolicy()
        _ = policy.handle(.start, at: at(0))
        _ = policy.handle(.setPreferred(.bluetooth), at: at(0))
        _ = policy.handle(.setDefault(.earpiece), at: at(0))
        if connected { _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(0)) }
        return policy
    }

    private func outgoing(_ call: String) -> RoutingEvent { .callOutgoing(call: call, video: false, routes: nil) }

    @Test func `an interruption that ends without a call has no effect`() {
        var policy = policy(connected: false)
        _ = policy.handle(.interruptionBegan(source: "alarm"), at: at(0))
        _ = policy.handle(.interruptionEnded(resume: false), at: at(10))
        _ = policy.handle(outgoing("c"), at: at(20))
        #expect(policy.current == .local(.earpiece))
        _ = policy.handle(.interruptionBegan(source: "alarm"), at: at(30))
        _ = policy.handle(.interruptionEnded(resume: false), at: at(40))
        #expect(policy.current == nil)
    }

    @Test func `a call starts on the local device without a headset, and moves to one that connects`() {
        var policy = policy(connected: false)
        #expect(
            policy.handle(outgoing("c"), at: at(1000)) == [
                .openPath(.local(.earpiece)), .routeChanged(old: nil, new: .local(.earpiece), .callStarted),
            ])
        #expect(
            policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(2000)) == [
                .devicesChanged, .setDeadline(at(3000)),
            ])
        #expect(
            policy.handle(.deadlineReached, at: at(3000)) == [
                .openLink(h1, .hfp, codecHint: nil, attempt: 1), .setDeadline(at(8000)),
            ])
        #expect(
            policy.handle(.linkOpened(h1), at: at(3400)) == [
                .openPath(.headset(h1, .hfp)), .closePath(.local(.earpiece)),
                .routeChanged(old: .local(.earpiece), new: .headset(h1, .hfp), .newDeviceAvailable),
                .setDeadline(nil),
            ])
        #expect(
            policy.handle(.headsetDisconnected(h1), at: at(9000)) == [
                .closePath(.headset(h1, .hfp)), .openPath(.local(.earpiece)),
                .routeChanged(old: .headset(h1, .hfp), new: .local(.earpiece), .oldDeviceUnavailable),
                .devicesChanged,
            ])
        #expect(
            policy.handle(.callEnded(call: "c"), at: at(9500)) == [
                .closePath(.local(.earpiece)), .routeChanged(old: .local(.earpiece), new: nil, .callEnded),
            ])
    }

    @Test func `the third attempt uses CVSD`() {
        var policy = policy()
        #expect(policy.handle(outgoing("c"), at: at(5000)).contains(.openLink(h1, .hfp, codecHint: nil, attempt: 1)))
        _ = policy.handle(.linkFailed(h1, .refused), at: at(5100))
        #expect(
            policy.handle(.deadlineReached, at: at(5600)).contains(.openLink(h1, .hfp, codecHint: nil, attempt: 2)))
        _ = policy.handle(.linkFailed(h1, .refused), at: at(5700))
        #expect(policy.handle(.deadlineReached, at: at(6500)).contains(.openPath(.local(.earpiece))))
        #expect(
            policy.handle(.deadlineReached, at: at(6700)).contains(.openLink(h1, .hfp, codecHint: .cvsd, attempt: 3)))
        let last = policy.handle(.linkFailed(h1, .refused), at: at(6800))
        #expect(last.contains(.activationFailed(h1)))
        #expect(policy.error == .activationFailed)
        #expect(policy.pending == nil)
    }

    @Test func `an adapter without wideband gets CVSD at once, and from then on`() {
        var policy = policy()
        _ = policy.handle(outgoing("c"), at: at(5000))
        #expect(
            policy.handle(.linkFailed(h1, .unsupportedCodec), at: at(5010)).first
                == .openLink(h1, .hfp, codecHint: .cvsd, attempt: 1))
        _ = policy.handle(.linkOpened(h1), at: at(5300))
        _ = policy.handle(.callEnded(call: "c"), at: at(9000))
        _ = policy.handle(.linkClosed(h1, .requested), at: at(9050))
        #expect(policy.handle(outgoing("d"), at: at(9100)).contains(.openLink(h1, .hfp, codecHint: .cvsd, attempt: 1)))
    }

    @Test func `a refused selection is a typed effect and changes nothing`() {
        var policy = policy()
        let before = policy
        #expect(
            policy.handle(.select(.headset(h2)), at: at(100)) == [.selectionRefused(.headset(h2), .unavailable)])
        #expect(policy.override == before.override)
        _ = policy.handle(.stop, at: at(200))
        #expect(policy.handle(.select(.earpiece), at: at(300)) == [.selectionRefused(.earpiece, .notStarted)])
        #expect(policy.error == .notStarted)
    }

    @Test func `a late answer to a cancelled set-up is waited for, but its link is not used`() {
        var policy = policy()
        _ = policy.handle(outgoing("c"), at: at(5000))
        #expect(policy.handle(.select(.earpiece), at: at(5100)).contains(.closeLink(h1)))
        #expect(policy.handle(.linkOpened(h1), at: at(5150)) == [])
        #expect(policy.handle(.select(.bluetooth), at: at(5160)) == [])
        #expect(
            policy.handle(.linkClosed(h1, .requested), at: at(5200)) == [
                .openLink(h1, .hfp, codecHint: nil, attempt: 1), .setDeadline(at(10_200)),
            ])
    }

    @Test func `an event after a deadline finds the deadline handled`() {
        var policy = policy()
        _ = policy.handle(outgoing("c"), at: at(5000))
        // The bridge was due at 6500; the jack edge comes first and late.
        let effects = policy.handle(.jackPlugged(microphone: true), at: at(7000))
        #expect(effects.first == .openPath(.local(.earpiece)))
        #expect(policy.reason == .bridge)
    }

    @Test func `a clock that goes back is held`() {
        var policy = policy()
        _ = policy.handle(outgoing("c"), at: at(5000))
        #expect(policy.handle(.deadlineReached, at: at(1000)) == [])
        #expect(policy.handle(.linkOpened(h1), at: at(2000)).first == .openPath(.headset(h1, .hfp)))
    }

    @Test func `switching the microphone on a local device refreshes the path without a route change`() {
        var policy = policy(connected: false)
        _ = policy.handle(outgoing("c"), at: at(100))
        var configuration = policy.configuration
        configuration.microphoneEnabled = false
        #expect(policy.handle(.configure(configuration), at: at(200)) == [.refreshPath(.local(.earpiece))])
        #expect(policy.input == .none)
        #expect(policy.handle(.refresh, at: at(300)) == [.refreshPath(.local(.earpiece))])
    }

    @Test func `a headset that is no longer paired is lost, and then unknown`() {
        var policy = policy()
        _ = policy.handle(outgoing("c"), at: at(5000))
        _ = policy.handle(.linkOpened(h1), at: at(5300))
        #expect(
            policy.handle(.headsetForgotten(h1), at: at(9000)) == [
                .closePath(.headset(h1, .hfp)), .openPath(.local(.earpiece)),
                .routeChanged(old: .headset(h1, .hfp), new: .local(.earpiece), .oldDeviceUnavailable),
                .devicesChanged,
            ])
        #expect(policy.devices(at: at(9000)).map(\.device) == [.speakerphone, .wiredHeadset, .earpiece])
        #expect(policy.handle(.headsetForgotten(h1), at: at(9100)) == [])
        #expect(policy.handle(.linkClosed(h1, .linkLoss), at: at(9200)) == [])
        // Paired again it is a new headset: the loss is forgotten.
        _ = policy.handle(.headsetConnected(h1, profiles: [.hfp]), at: at(9500))
        #expect(policy.handle(.deadlineReached, at: at(10_499)) == [])
        #expect(
            policy.handle(.deadlineReached, at: at(10_500)).contains(.openLink(h1, .hfp, codecHint: nil, attempt: 1)))
    }

    @Test func `forgetting a headset during its link's set-up allows another one to be opened`() {
        var policy = policy()
        _ = policy.handle(.headsetConnected(h2, profiles: [.hfp]), at: at(10))
        _ = policy.handle(outgoing("c"), at: at(5000))
        #expect(policy.pending == .headset(h2, .hfp))
        #expect(
            policy.handle(.headsetForgotten(h2), at: at(5100)).first == .openLink(h1, .hfp, codecHint: nil, attempt: 1))
        _ = policy.handle(.headsetForgotten(h1), at: at(5200))
        #expect(policy.pending == nil)
        #expect(policy.current == .local(.earpiece))
    }

    @Test func `forgetting a headset without a call changes the devices and nothing else`() {
        var policy = policy()
        #expect(policy.handle(.headsetForgotten(h1), at: at(100)) == [.devicesChanged])
        #expect(policy.handle(.headsetForgotten(h2), at: at(200)) == [])
    }

    @Test func `devices give the reason why they are not available`() {
        var policy = policy()
        _ = policy.handle(.headsetConnected(h2, profiles: [.a2dp]), at: at(10))
        _ = policy.handle(.jackPlugged(microphone: false), at: at(20))
        _ = policy.handle(.deadlineReached, at: at(220))
        let texts = policy.devices(at: at(300)).map { device in
            let endpoints = [device.output?.description, device.input?.description].compactMap { $0 }
            return "\(device.device) \(device.unavailableBecause ?? endpoints.joined(separator: " "))"
        }
        #expect(
            texts == [
                "speakerphone speaker builtinMic", "wiredHeadset jack builtinMic", "earpiece masked by the jack",
                "bluetooth:\(h1) sco:\(h1) sco:\(h1)",
                "bluetooth:\(h2) A2DP only and allowBluetoothA2DP is off",
            ])
    }
}
