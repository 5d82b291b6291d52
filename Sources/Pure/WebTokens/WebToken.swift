/// An accepted token: who the client is, and what it may do until when.
///
/// Times are seconds since 1970-01-01 00:00 UTC.
package struct WebToken: Hashable, Sendable {
    /// Most bytes of a subject.
    package static let longestSubject = 128

    /// As the token has them: ask ``allows(_:)``.
    package var scopes: Set<WebScope>
    /// The client's name, as its issuer wrote it: clean it before printing.
    package var subject: String?
    package var issuedAt: Int64?
    package var expiresAt: Int64
    /// When 80 % of its life are over: a connected client is asked for the next token then. The life begins with `iat`, else
    /// `nbf`, else with the acceptance, and no later than that.
    package var refreshAt: Int64

    package init(scopes: Set<WebScope>, subject: String?, issuedAt: Int64?, expiresAt: Int64, refreshAt: Int64) {
        self.scopes = scopes
        self.subject = subject
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
        self.refreshAt = refreshAt
    }

    package func allows(_ scope: WebScope) -> Bool { scopes.contains(scope) || scopes.contains(.admin) }
}
