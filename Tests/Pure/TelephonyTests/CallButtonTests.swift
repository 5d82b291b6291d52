import Telephony
import Testing

@Suite struct CallButtonTests {
    /// Each button's request for calls in these states; the first call has the identifier 1.
    struct Row: CustomTestStringConvertible, Sendable {
        let states: [CallState]
        let answer: Outcome
        let hangUp: Outcome
        let toggle: Outcome
        let hold: Outcome

        var testDescription: String { "\(states)" }
    }

    typealias Outcome = Result<CallRequest, CallButton.Idle>

    private static func call(_ value: UInt32) -> CallID { CallID(value) }

    static let rows: [Row] = [
        Row(
            states: [], answer: .failure(.nothingRings), hangUp: .failure(.noCall), toggle: .failure(.noCall),
            hold: .failure(.noCall)),
        Row(
            states: [.incoming], answer: .success(.answer(call(1))), hangUp: .success(.reject(call(1))),
            toggle: .success(.answer(call(1))), hold: .failure(.noCall)),
        Row(
            states: [.active], answer: .failure(.nothingRings), hangUp: .success(.hangUp(call(1))),
            toggle: .success(.hangUp(call(1))), hold: .success(.setHeld(call(1), true))),
        Row(
            states: [.held], answer: .failure(.nothingRings), hangUp: .success(.hangUp(call(1))),
            toggle: .success(.hangUp(call(1))), hold: .success(.setHeld(call(1), false))),
        Row(
            states: [.active, .held], answer: .failure(.nothingRings), hangUp: .success(.hangUp(call(1))),
            toggle: .success(.hangUp(call(1))), hold: .success(.setHeld(call(1), true))),
        // With a waiting call beside an active one, the active one ends, the waiting one is answered.
        Row(
            states: [.active, .waiting], answer: .success(.answer(call(2))), hangUp: .success(.hangUp(call(1))),
            toggle: .success(.answer(call(2))), hold: .success(.setHeld(call(1), true))),
        // Beside a held call the waiting one is rejected.
        Row(
            states: [.held, .waiting], answer: .success(.answer(call(2))), hangUp: .success(.reject(call(2))),
            toggle: .success(.answer(call(2))), hold: .success(.setHeld(call(1), false))),
        // A call being dialled ends before the one that is up.
        Row(
            states: [.held, .setup], answer: .failure(.nothingRings), hangUp: .success(.hangUp(call(2))),
            toggle: .success(.hangUp(call(2))), hold: .success(.setHeld(call(1), false))),
        Row(
            states: [.active, .dialing, .alerting], answer: .failure(.nothingRings), hangUp: .success(.hangUp(call(3))),
            toggle: .success(.hangUp(call(3))), hold: .success(.setHeld(call(1), true))),
    ]

    @Test(arguments: rows) func `a button requests one thing, or gives the reason why not`(_ row: Row) {
        let calls = CallSnapshot(
            row.states.enumerated().map { index, state in
                Call(
                    id: CallID(UInt32(index + 1)), provider: "phone", direction: .incoming, state: state,
                    index: index + 1)
            })
        func outcome(_ button: CallButton) -> Outcome {
            Result { () throws(CallButton.Idle) in try button.request(calls, lastDialed: nil) }
        }
        #expect(outcome(.answer) == row.answer)
        #expect(outcome(.hangUp) == row.hangUp)
        #expect(outcome(.toggle) == row.toggle)
        #expect(outcome(.hold) == row.hold)
        #expect(outcome(.redial) == .failure(.nothingDialled))
        #expect(throws: Never.self) { try CallButton.redial.request(calls, lastDialed: "5") == .dial(number: "5") }
    }
}
