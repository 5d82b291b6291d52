import Telephony
import Testing

/// Calls of a provider without call state: audio that is not shown to headsets as a call.
@Suite struct UnshownCallTests {
    private var table = CallTable()
    private let announcement: CallID

    init() throws {
        table.register(CallProvider(name: "phone", capabilities: [.dtmf]))
        table.register(CallProvider(name: "announcer", capabilities: [], hasCallState: false))
        announcement = try table.reportOutgoing(CallDetails(), from: "announcer").id
    }

    private func steps(_ actions: [CallTable.Action]) -> [ProviderAction] {
        actions.compactMap { action in
            if case .perform(let step, _, _) = action { step } else { nil }
        }
    }

    @Test mutating func `they are in the list but not in the snapshot`() throws {
        #expect(table.calls.map(\.id) == [announcement])
        #expect(table.snapshot == .empty && table.isSpeakingUnshown)
        _ = try table.update(announcement, .active, from: "announcer")
        #expect(table.snapshot == .empty && table.isSpeakingUnshown)
        _ = try table.update(announcement, .held, from: "announcer")
        #expect(!table.isSpeakingUnshown)
        _ = try table.update(announcement, .ended(.remoteHangUp), from: "announcer")
        #expect(!table.isSpeakingUnshown && table.calls.isEmpty)
    }

    @Test mutating func `they make no call wait, and end for a call that is answered`() throws {
        _ = try table.update(announcement, .active, from: "announcer")
        let call = try table.reportIncoming(CallDetails(number: "1"), from: "phone").id
        #expect(table.call(call)?.state == .incoming)
        #expect(table.snapshot.indicators.callSetup == 1 && table.snapshot.ringing?.id == call)
        let first = table.request(.answer(call), id: CallRequestID(1))
        #expect(steps(first) == [.hangUp(announcement)])
        guard case .perform(_, _, let id)? = first.first else {
            Issue.record("\(first)")
            return
        }
        #expect(steps(table.providerAnswered(id, .fulfilled)) == [.answer(call)])
    }

    @Test mutating func `they are held where their provider can, and resumed like any other`() throws {
        table.register(CallProvider(name: "announcer", capabilities: [.hold], hasCallState: false))
        let other = try table.reportOutgoing(CallDetails(), from: "announcer").id
        _ = try table.update(announcement, .ended(.remoteHangUp), from: "announcer")
        _ = try table.update(other, .active, from: "announcer")
        let call = try table.reportIncoming(CallDetails(number: "1"), from: "phone").id
        #expect(steps(table.request(.answer(call), id: CallRequestID(1))) == [.setHeld(other, true)])
    }

    @Test mutating func `an announcement about to begin does not prevent dialling`() {
        table.register(CallProvider(name: "phone", capabilities: [.dial]))
        #expect(table.isSpeakingUnshown)
        let call = table.begin(.dial(number: "1"), id: CallRequestID(1)).call
        #expect(call.flatMap { table.call($0) }?.provider == "phone")
    }

    @Test mutating func `an announcement during a call holds no call, and tones go to the call`() throws {
        table.register(CallProvider(name: "phone", capabilities: [.dtmf, .hold]))
        let call = try table.reportOutgoing(CallDetails(number: "1"), from: "phone").id
        _ = try table.update(call, .active, from: "phone")
        #expect(steps(try table.update(announcement, .active, from: "announcer")).isEmpty)
        #expect(table.call(call)?.state == .active)
        #expect(steps(table.request(.sendDTMF("5"), id: CallRequestID(1))) == [.sendDTMF(call, "5")])
    }
}
