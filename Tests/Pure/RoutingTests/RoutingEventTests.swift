import BluetoothTypes
import Routing
import Testing

@Suite struct RoutingEventTests {
    private static let address = BluetoothAddress(value: 0x001B_DC08_0011)

    private static var configured: RoutingEvent {
        var configuration = RoutingConfiguration()
        configuration.exclude = [.earpiece, .headset(address)]
        configuration.startGrace = .milliseconds(7)
        return .configure(configuration)
    }

    static let events: [RoutingEvent] = [
        .start, .stop, .setPreferred(.bluetooth), .setDefault(.headset(address)), .select(.earpiece), .clearSelection,
        .mute(true), .refresh, configured, .sessionActivated, .sessionDeactivated,
        .callOutgoing(call: "c", video: true, routes: [.earpiece, .bluetooth]),
        .callOutgoing(call: "c", video: false, routes: nil, audio: .receiveOnly),
        .callMedia(call: "c", audio: .off, video: .sendOnly), .callLocalMedia(call: "c", audio: false, video: true),
        .callTalking(call: "c", isTalking: true), .headsetResting(address, isResting: true),
        .callRoutes(call: "c", routes: [.earpiece]), .callRoutes(call: "c", routes: nil),
        .callIncoming(call: "c", video: false, routes: nil), .callAnswered(call: "c", via: nil),
        .callAnswered(call: "c", via: .handset), .callAnswered(call: "c", via: .headset(address)), .callHeld(call: "c"),
        .callResumed(call: "c"), .callEnded(call: "c"), .headsetDescribed(address, category: .watch, inbandRing: false),
        .headsetPreference(address, takesCalls: false),
        .headsetConnected(address, profiles: [.hfp]), .headsetDisconnected(address), .headsetForgotten(address),
        .headsetProfile(address, .a2dp, isUp: true), .adapterPowered(false), .linkOpened(address),
        .linkFailed(address, .unsupportedCodec), .linkFailed(address, .busy), .linkClosed(address, .requested),
        .linkClosed(address, .remote),
        .linkClosed(address, .linkLoss), .linkOpenedByHeadset(address, mode: .hfp),
        .linkOpenedByHeadset(address, mode: nil), .linkSilent(address), .linkResumed(address),
        .codecChanged(address, .mSBC), .jackPlugged(microphone: false), .jackUnplugged, .localLost(.earpiece),
        .localFound(.wiredHeadset), .handsetOffHook, .handsetOnHook, .interruptionBegan(source: "modem"),
        .interruptionEnded(resume: false), .deadlineReached,
    ]

    @Test(arguments: events)
    func `a recorded event reads as the same event`(_ event: RoutingEvent) throws {
        #expect(try RoutingEvent(event.record) == event)
    }

    @Test func `every word of the vocabulary is recorded by some event`() {
        let recorded = Set(Self.events.map(\.record.word))
        #expect(EventRecord.words.filter { !recorded.contains($0) } == [])
    }

    @Test func `a configuration in a record changes only the named keys`() throws {
        var base = RoutingConfiguration()
        base.startGrace = .milliseconds(9)
        let record = EventRecord(
            word: "api.config", arguments: [EventRecord.Argument(name: "manualAudio", value: .flag(true))])
        var expected = base
        expected.manualAudio = true
        #expect(try RoutingEvent(record, changing: base) == .configure(expected))
    }
}
