import JSONText

/// Hides numbers and names of callers from those who may only read.
enum CallerPrivacy {
    /// Sets `number` and `name` to null in each object that is about a call.
    static func hidden(_ json: JSON) -> JSON {
        switch json {
        case .object(let members):
            let isCall = members["call"] != nil
            return .object(
                members.map { member in
                    isCall && ["number", "name"].contains(member.name)
                        ? JSON.Member(member.name, .null) : JSON.Member(member.name, hidden(member.value))
                })
        case .array(let elements): return .array(elements.map(hidden))
        case .null, .bool, .integer, .number, .string: return json
        }
    }
}
