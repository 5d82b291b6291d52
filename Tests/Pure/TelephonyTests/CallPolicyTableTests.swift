import Telephony
import Testing

@Suite struct CallPolicyTableTests {
    private func table(_ configuration: CallTable.Configuration) -> CallTable {
        var table = CallTable(configuration: configuration)
        table.register(CallProvider(name: "phone", capabilities: [.hold, .dial]))
        table.register(CallProvider(name: "radio", capabilities: [], hasCallState: false))
        return table
    }

    @Test func `A call not shown to headsets is no reason to refuse another one`() throws {
        var table = table(CallTable.Configuration(secondCall: .reject))
        let announcement = try table.reportOutgoing(CallDetails(), from: "radio")
        _ = try table.update(announcement.id, .active, from: "radio")
        _ = try table.reportIncoming(CallDetails(number: "1"), from: "phone")
        #expect(throws: CallReportError.busy) { try table.reportIncoming(CallDetails(number: "2"), from: "phone") }
        #expect(table.calls.count == 2)
    }

    @Test func `Do not disturb applies to the next report, and changes no existing call`() throws {
        var table = table(CallTable.Configuration())
        let first = try table.reportIncoming(CallDetails(), from: "phone")
        table.configuration.doNotDisturb = true
        #expect(throws: CallReportError.filtered) { try table.reportIncoming(CallDetails(), from: "phone") }
        #expect(table.calls.map(\.id) == [first.id])
        _ = try table.reportOutgoing(CallDetails(), from: "phone")
        table.configuration.doNotDisturb = false
        _ = try table.reportIncoming(CallDetails(), from: "phone")
        #expect(table.calls.count == 3)
    }

    @Test func `A number without a provider is dialled by one that accepts plain numbers`() throws {
        var table = CallTable()
        table.register(CallProvider(name: "gate", capabilities: [.dial], dialsNumbers: false))
        let nobody = table.request(.dial(number: "1"), id: CallRequestID(1))
        #expect(nobody == [.completed(CallRequestID(1), .failed(.noProvider))])
        table.register(CallProvider(name: "phone", capabilities: [.dial, .hold]))
        _ = table.request(.dial(number: "1"), id: CallRequestID(2))
        _ = try table.update(CallID(1), .active, from: "phone")
        _ = table.request(.dial(number: "gate:1", provider: "gate"), id: CallRequestID(3))
        #expect(table.calls.map(\.provider) == ["phone", "gate"])
    }
}
