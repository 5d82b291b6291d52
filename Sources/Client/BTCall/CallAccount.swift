import BTCallAPI

/// The account that a call belongs to, as ``CallBridge/configure(_:)`` has set it when the call appeared.
public struct CallAccount: Hashable, Sendable {
    public var accountID: String?
    public var userID: String?

    public init(accountID: String? = nil, userID: String? = nil) {
        self.accountID = accountID
        self.userID = userID
    }

    init(_ account: AccountDescription) {
        self.init(accountID: account.accountID.nonEmpty, userID: account.userID.nonEmpty)
    }
}
