import Telephony

extension CommandModel {
    /// The calls of a course, in words, and their consequences.
    struct Calls {
        let calls: [Call]
        let listed: [String]
        let durations: [String]
        /// ATA, AT+CHUP; nil is ERROR.
        let answer: String?
        let hangUp: String?
        let rejects: Bool
        let isTalking: Bool
        /// The actions of AT+CHLD that apply to the present calls.
        let threeWay: Set<String>
    }

    static let tables: [Calls] = [
        Calls(
            calls: [], listed: [], durations: [], answer: nil, hangUp: nil, rejects: false, isTalking: false,
            threeWay: []),
        Calls(
            calls: [call(1, .incoming, .incoming, "5551")], listed: ["+CLCC: 1,1,4,0,0,\"5551\",129"], durations: [],
            answer: "answer 1", hangUp: "reject 1", rejects: true, isTalking: false, threeWay: ["0", "1", "2"]),
        Calls(
            calls: [call(2, .outgoing, .dialing, "+5552")], listed: ["+CLCC: 2,0,2,0,0,\"+5552\",145"], durations: [],
            answer: nil, hangUp: "hangup 2", rejects: false, isTalking: true, threeWay: ["1", "12"]),
        Calls(
            calls: [call(1, .outgoing, .active, "5551")], listed: ["+CLCC: 1,0,0,0,0,\"5551\",129"],
            durations: ["+BCDI: 1,0"], answer: nil, hangUp: "hangup 1", rejects: false, isTalking: true,
            threeWay: ["1", "2", "11", "21"]),
        Calls(
            calls: [call(1, .outgoing, .held, nil)], listed: ["+CLCC: 1,0,1,0,0"], durations: ["+BCDI: 1,0"],
            answer: nil,
            hangUp: nil, rejects: false, isTalking: true, threeWay: ["0", "1", "2", "11", "21"]),
        Calls(
            calls: [call(1, .outgoing, .active, nil), call(3, .incoming, .waiting, "5553")],
            listed: ["+CLCC: 1,0,0,0,0", "+CLCC: 3,1,5,0,0,\"5553\",129"], durations: ["+BCDI: 1,0"],
            answer: "answer 3",
            hangUp: "hangup 1", rejects: false, isTalking: true, threeWay: ["0", "1", "2", "11", "21"]),
        Calls(
            calls: [call(1, .outgoing, .held, nil), call(2, .incoming, .active, nil)],
            listed: ["+CLCC: 1,0,1,0,0", "+CLCC: 2,1,0,0,0"], durations: ["+BCDI: 1,0", "+BCDI: 2,0"], answer: nil,
            hangUp: "hangup 2", rejects: false, isTalking: true,
            threeWay: ["0", "1", "2", "3", "4", "11", "12", "21", "22"]),
    ]

    private static func call(_ index: Int, _ direction: CallDirection, _ state: CallState, _ number: String?) -> Call {
        Call(
            id: CallID(UInt32(index)), provider: "p", direction: direction, state: state,
            details: CallDetails(number: number), index: index)
    }
}
