package import DBus

/// Contact data of the other party (`ContactResolver1.ResolveContact`, `Call1.Contact`).
package struct ContactDescription: Hashable, Sendable {
    /// In bytes: a contact with a longer name, identifier or number is ignored.
    package static let longestText = 256
    /// In bytes.
    package static let longestAddress = 1024

    package var id: String
    package var name: String
    package var avatar: String
    package var number: String

    package init(id: String = "", name: String, avatar: String = "", number: String = "") {
        self.id = id
        self.name = name
        self.avatar = avatar
        self.number = number
    }

    /// - Throws: `.invalidArgument` for an entry that is not a string, or too long.
    package init(_ fields: Fields) throws(APIError) {
        id = try Self.text("contactId", of: fields, Self.longestText)
        name = try Self.text("displayName", of: fields, Self.longestText)
        avatar = try Self.text("avatarUrl", of: fields, Self.longestAddress)
        number = try Self.text("phoneNumber", of: fields, Self.longestText)
    }

    /// The entries on the bus, without unknown ones.
    package var fields: [String: Value] {
        let texts = [
            ("contactId", id), ("displayName", name), ("avatarUrl", avatar), ("phoneNumber", number),
        ]
        var fields: [String: Value] = [:]
        for (key, text) in texts where !text.isEmpty { fields[key] = .string(text) }
        return fields
    }

    private static func text(_ key: String, of fields: Fields, _ longest: Int) throws(APIError)
        -> String
    {
        let text = try fields.optionalString(key) ?? ""
        guard text.utf8.count <= longest else {
            throw APIError(
                .invalidArgument, "\(key) in \(fields.subject) is longer than \(longest) bytes")
        }
        return text
    }
}

/// The other party as the call's application gave it (`ContactResolver1.ResolveCaller`).
package struct CallerDescription: Hashable, Sendable {
    /// The address in the application's notation, or else the number.
    package var id: String
    /// Empty when the application gave no name.
    package var name: String
    /// The application's registered name.
    package var provider: String

    package init(id: String, name: String = "", provider: String = "") {
        self.id = id
        self.name = name
        self.provider = provider
    }

    /// - Throws: `.invalidArgument` for an entry that is not a string.
    package init(_ fields: Fields) throws(APIError) {
        id = try fields.optionalString("callerId") ?? ""
        name = try fields.optionalString("callerName") ?? ""
        provider = try fields.optionalString("provider") ?? ""
    }

    /// The entries on the bus, without unknown ones.
    package var fields: [String: Value] {
        var fields: [String: Value] = [:]
        for (key, text) in [("callerId", id), ("callerName", name), ("provider", provider)] where !text.isEmpty {
            fields[key] = .string(text)
        }
        return fields
    }
}
