import WebTokens

/// On whose behalf a request is made, and what it may do.
struct WebPrincipal: Hashable, Sendable {
    /// As the token has them: ask ``allows(_:)``.
    let scopes: Set<WebScope>
    /// For the log; from outside, not cleaned.
    let name: String
    /// Seconds since 1970-01-01 00:00 UTC; nil: never.
    let expiresAt: Int64?
    /// When a client is asked for its next token.
    let refreshAt: Int64?
    /// Whether it is shown the numbers and names of callers.
    let seesCallers: Bool

    init(_ token: WebToken) {
        scopes = token.scopes
        name = token.subject ?? "token without a name"
        expiresAt = token.expiresAt
        refreshAt = token.refreshAt
        seesCallers = true
    }

    /// A user of this machine, on the Unix socket.
    init(user: UInt32, isMember: Bool) {
        scopes = isMember ? [.admin] : [.read]
        name = "user \(user)"
        expiresAt = nil
        refreshAt = nil
        seesCallers = isMember
    }

    /// A program that has signed a body.
    init(signedBy name: String) {
        scopes = [.provider]
        self.name = name
        expiresAt = nil
        refreshAt = nil
        seesCallers = true
    }

    func allows(_ scope: WebScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }

    /// The scopes in words, in the order of ``WebScope``.
    var words: [String] { WebScope.allCases.filter(allows).map(\.rawValue) }
}
