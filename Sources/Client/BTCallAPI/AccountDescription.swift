package import DBus

/// The account that a call belongs to, as the box was configured when the call appeared; empty parts are not sent.
package struct AccountDescription: Hashable, Sendable {
    package var accountID: String
    package var userID: String

    package init(accountID: String = "", userID: String = "") {
        self.accountID = accountID
        self.userID = userID
    }

    package init(_ fields: [String: Value]) {
        accountID = fields[ConfigurationDescription.Entry.accountID.rawValue]?.stringValue ?? ""
        userID = fields[ConfigurationDescription.Entry.userID.rawValue]?.stringValue ?? ""
    }

    package var fields: [String: Value] {
        var fields: [String: Value] = [:]
        if !accountID.isEmpty { fields[ConfigurationDescription.Entry.accountID.rawValue] = .string(accountID) }
        if !userID.isEmpty { fields[ConfigurationDescription.Entry.userID.rawValue] = .string(userID) }
        return fields
    }
}
