package import DBus

/// The properties of `Manager1`.
package struct ManagerDescription: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case inactive, activating, active, deactivating
    }

    package var version: String
    package var state: State
    package var problems: [ProblemDescription]
    /// Charge of the board's own battery in per cent; nil without a battery.
    package var boardBattery: Int?

    package init(version: String, state: State, problems: [ProblemDescription] = [], boardBattery: Int? = nil) {
        self.version = version
        self.state = state
        self.problems = problems
        self.boardBattery = boardBattery
    }

    package init(_ fields: Fields) throws(APIError) {
        version = try fields.optionalString(BTCallName.Manager.version) ?? ""
        state = try fields.word(BTCallName.Manager.state, of: State.self)
        problems = []
        for element in try fields.dictionaries(BTCallName.Manager.problems) {
            problems.append(try ProblemDescription(element))
        }
        boardBattery = try fields.optionalInteger(BTCallName.Manager.boardBattery).flatMap {
            (0...100).contains($0) ? $0 : nil
        }
    }

    package var properties: [String: Value] {
        [
            BTCallName.Manager.version: .string(version),
            BTCallName.Manager.state: .string(state.rawValue),
            BTCallName.Manager.problems: .vardicts(problems.map(\.fields)),
            BTCallName.Manager.boardBattery: .int32(Int32(clamping: boardBattery ?? -1)),
        ]
    }
}

/// A problem that keeps the daemon from working fully: an element of `Manager1.Problems`.
package struct ProblemDescription: Hashable, Sendable {
    /// A stable identifier for programs: `bluetoothd`, `adapter`, `profile`, …
    package var id: String
    /// The missing or wrong thing, in one sentence.
    package var what: String
    /// The action that solves the problem, in one sentence.
    package var remedy: String

    package init(id: String, what: String, remedy: String) {
        self.id = id
        self.what = what
        self.remedy = remedy
    }

    package init(_ fields: Fields) throws(APIError) {
        id = try fields.string("id")
        what = try fields.optionalString("what") ?? ""
        remedy = try fields.optionalString("remedy") ?? ""
    }

    package var fields: [String: Value] {
        ["id": .string(id), "what": .string(what), "remedy": .string(remedy)]
    }
}
