package import DBus

/// The entries of `Manager1.Configuration`: the box's identity, for applications. Empty entries are left out.
package struct ConfigurationDescription: Hashable, Sendable {
    package enum Entry: String, Hashable, Sendable, CaseIterable {
        case accountID = "accountId"
        case userID = "userId"
        case displayName, phoneNumber, localizedName, ringtoneSound, iconFileName

        /// The corresponding key of the configuration.
        package var setting: String {
            switch self {
            case .phoneNumber: "calls.ownNumber"
            case .accountID, .userID, .displayName, .localizedName, .ringtoneSound, .iconFileName:
                "identity.\(rawValue)"
            }
        }
    }

    package var values: [Entry: String]

    package init(_ values: [Entry: String] = [:]) {
        self.values = values
    }

    /// - Throws: `.invalidArgument` for an entry that does not exist, or is not a string.
    package init(_ fields: Fields) throws(APIError) {
        values = [:]
        try fields.check(Entry.allCases.map { .text($0.rawValue) })
        for entry in Entry.allCases { values[entry] = try fields.optionalString(entry.rawValue) }
    }

    package subscript(_ entry: Entry) -> String { values[entry] ?? "" }

    package var fields: [String: Value] {
        Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, .string($0.value)) })
    }
}
