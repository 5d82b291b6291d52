/// Reason why a driver's message is refused.
package enum MessageRefusal: Error, Hashable {
    /// Invalid message; the text names the wrong part. The verb ends with exit code 2.
    case malformed(String)
    /// Valid message with an unsupported configuration.
    case unsupported(String)
}

/// The members of a JSON object from the driver. Unread members are ignored; null counts as absent.
package struct MessageFields {
    /// Description of the object, for messages: `event ag_volume`.
    package let name: String
    private let members: [String: JSON]

    package init(_ name: String, _ value: JSON) throws(MessageRefusal) {
        guard case .object(let members) = value else {
            throw .malformed("\(name): an object in braces expected, not \(Self.shown(value))")
        }
        self.name = name
        let present = members.filter { $0.value != .null }.map { ($0.name, $0.value) }
        self.members = Dictionary(present) { first, _ in first }
    }

    /// - Parameter line: one JSON object.
    package init(json line: [UInt8], _ name: String) throws(MessageRefusal) {
        let value: JSON
        do throws(JSONError) {
            value = try JSON(reading: line)
        } catch {
            throw .malformed("no JSON: \(error.problem)")
        }
        try self.init(name, value)
    }

    package var keys: [String] { members.keys.sorted() }

    package func named(_ name: String) -> MessageFields {
        MessageFields(name: name, members: members)
    }

    private init(name: String, members: [String: JSON]) {
        self.name = name
        self.members = members
    }

    // MARK: Members that must be there

    package func text(_ key: String) throws(MessageRefusal) -> String {
        try required(key, "a string", try optionalText(key))
    }

    package func number(_ key: String) throws(MessageRefusal) -> Int {
        try required(key, "a whole number", try optionalNumber(key))
    }

    package func flag(_ key: String) throws(MessageRefusal) -> Bool {
        try required(key, "true or false", try optionalFlag(key))
    }

    package func list(_ key: String) throws(MessageRefusal) -> [JSON] {
        try required(key, "a list", try optionalList(key))
    }

    package func object(_ key: String) throws(MessageRefusal) -> MessageFields {
        try required(key, "an object", try optionalObject(key))
    }

    private func required<Value>(
        _ key: String, _ kind: String, _ value: Value?
    ) throws(MessageRefusal) -> Value {
        guard let value else { throw .malformed("\(name): \"\(key)\" is missing: \(kind)") }
        return value
    }

    // MARK: Members that may be absent

    package func optionalText(_ key: String) throws(MessageRefusal) -> String? {
        switch members[key] {
        case nil: return nil
        case .string(let text): return text
        case let other?: throw wrong(key, "a string", other)
        }
    }

    /// A string, or a number converted to one.
    package func optionalTextOrNumber(_ key: String) throws(MessageRefusal) -> String? {
        guard let value = members[key], value.numberValue != nil else { return try optionalText(key) }
        return value.integerValue.map { String($0) } ?? value.text()
    }

    /// Numbers beyond the range of `Int` are clamped.
    package func optionalNumber(_ key: String) throws(MessageRefusal) -> Int? {
        switch members[key] {
        case nil: return nil
        case .integer(let number): return Int(clamping: number)
        case .number(let number) where number == number.rounded():
            return Int(exactly: number) ?? (number < 0 ? Int.min : Int.max)
        case let other?: throw wrong(key, "a whole number", other)
        }
    }

    /// true, false, 1 or 0.
    package func optionalFlag(_ key: String) throws(MessageRefusal) -> Bool? {
        switch members[key] {
        case nil: return nil
        case .bool(let flag): return flag
        case let other?:
            switch other.integerValue {
            case 0: return false
            case 1: return true
            default: throw wrong(key, "true or false, 1 or 0", other)
            }
        }
    }

    package func optionalList(_ key: String) throws(MessageRefusal) -> [JSON]? {
        switch members[key] {
        case nil: return nil
        case .array(let list): return list
        case let other?: throw wrong(key, "a list", other)
        }
    }

    package func optionalObject(_ key: String) throws(MessageRefusal) -> MessageFields? {
        try members[key].map { value throws(MessageRefusal) in try MessageFields("\(name): \"\(key)\"", value) }
    }

    /// A list of strings.
    package func optionalWords(_ key: String) throws(MessageRefusal) -> [String]? {
        guard let list = try optionalList(key) else { return nil }
        var words: [String] = []
        for value in list {
            guard case .string(let word) = value else { throw wrong(key, "a list of strings", value) }
            words.append(word)
        }
        return words
    }

    /// The value of a word from a closed list.
    package func word<Value>(_ key: String, _ words: [String: Value]) throws(MessageRefusal) -> Value {
        let word = try text(key)
        guard let value = words[word] else {
            let accepted = words.keys.sorted().joined(separator: ", ")
            throw .malformed("\(name): \"\(key)\": one of \(accepted) expected, not \"\(word)\"")
        }
        return value
    }

    private func wrong(_ key: String, _ kind: String, _ value: JSON) -> MessageRefusal {
        .malformed("\(name): \"\(key)\": \(kind) expected, not \(Self.shown(value))")
    }

    /// A value as JSON, shortened if long.
    package static func shown(_ value: JSON) -> String {
        let text = value.text()
        return text.count > 60 ? "\(text.prefix(60))…" : text
    }
}
