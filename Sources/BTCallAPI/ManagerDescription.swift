package import DBus

/// The properties of `Manager1`.
package struct ManagerDescription: Hashable, Sendable {
    package enum State: String, Hashable, Sendable, CaseIterable {
        case inactive, activating, active, deactivating
    }

    package var version: String
    package var state: State
    package var problems: [ProblemDescription]

    package init(version: String, state: State, problems: [ProblemDescription] = []) {
        self.version = version
        self.state = state
        self.problems = problems
    }

    package init(_ fields: Fields) throws(APIError) {
        version = try fields.optionalString(BTCallName.Manager.version) ?? ""
        state = try fields.word(BTCallName.Manager.state, of: State.self)
        problems = []
        for element in try fields.dictionaries(BTCallName.Manager.problems) {
            problems.append(try ProblemDescription(element))
        }
    }

    package var properties: [String: Value] {
        [
            BTCallName.Manager.version: .string(version),
            BTCallName.Manager.state: .string(state.rawValue),
            BTCallName.Manager.problems: .vardicts(problems.map(\.fields)),
        ]
    }
}

/// Something that keeps the daemon from doing all it could: an element of `Manager1.Problems`.
package struct ProblemDescription: Hashable, Sendable {
    /// A fixed word for programs: `bluetoothd`, `adapter`, `profile`, …
    package var id: String
    /// What is missing or wrong, one sentence.
    package var what: String
    /// What to do about it, one sentence.
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
