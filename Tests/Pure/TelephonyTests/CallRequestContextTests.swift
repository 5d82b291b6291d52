import Telephony
import Testing

/// The calls and requests that a request returns, so that callers need not compare lists.
@Suite struct CallRequestContextTests {
    private func table() -> CallTable {
        var table = CallTable()
        table.register(CallProvider(name: "phone", capabilities: [.hold, .dial]))
        return table
    }

    private func actions(_ all: [CallTable.Action]) -> [ProviderActionID] {
        all.compactMap { action in
            if case .perform(_, _, let id) = action { id } else { nil }
        }
    }

    @Test func `a request to dial returns its call`() throws {
        var table = table()
        let first = table.begin(.dial(number: "1"), id: CallRequestID(1))
        _ = try table.update(CallID(1), .active, from: "phone")
        let second = table.begin(.dial(number: "2"), id: CallRequestID(2))
        #expect(first.call == CallID(1) && second.call == CallID(2))
        #expect(table.call(try #require(second.call))?.details.number == "2")
    }

    @Test func `a request that fails at once, or concerns an existing call, returns none`() throws {
        var table = table()
        let nobody = table.begin(.dial(number: "1", provider: "door"), id: CallRequestID(1))
        #expect(nobody.call == nil)
        #expect(nobody.actions == [.completed(CallRequestID(1), .failed(.noProvider))])
        let (id, _) = try table.reportIncoming(CallDetails(), from: "phone")
        #expect(table.begin(.answer(id), id: CallRequestID(2)).call == nil)
    }

    @Test func `a provider's action lists all its requests, until it is answered`() throws {
        var table = table()
        let (id, _) = try table.reportIncoming(CallDetails(), from: "phone")
        let asked = table.request(.answer(id), id: CallRequestID(1))
        let action = try #require(actions(asked).first)
        #expect(table.requests(for: action) == [CallRequestID(1)])
        #expect(table.request(.answer(id), id: CallRequestID(2)).isEmpty)
        #expect(table.requests(for: action) == [CallRequestID(1), CallRequestID(2)])
        _ = table.providerAnswered(action, .fulfilled)
        #expect(table.requests(for: action).isEmpty)
    }

    @Test func `each step of a request lists it, and the table's own steps list none`() throws {
        var table = table()
        table.register(CallProvider(name: "door", capabilities: []))
        let (first, _) = try table.reportIncoming(CallDetails(), from: "phone")
        _ = try table.update(first, .active, from: "phone")
        let (second, _) = try table.reportIncoming(CallDetails(), from: "phone")
        let hold = try #require(actions(table.request(.answer(second), id: CallRequestID(1))).first)
        #expect(table.requests(for: hold) == [CallRequestID(1)])
        let answer = try #require(actions(table.providerAnswered(hold, .fulfilled)).first)
        #expect(table.requests(for: answer) == [CallRequestID(1)])
        _ = table.providerAnswered(answer, .fulfilled)
        let (third, _) = try table.reportIncoming(CallDetails(), from: "door")
        let own = try #require(actions(try table.update(third, .active, from: "door")).first)
        #expect(table.requests(for: own).isEmpty)
    }
}
