import JSONText

/// Rules for the claims of a token whose signature is valid.
struct TokenRules: Hashable, Sendable {
    /// Accepted difference of the clocks of issuer and box, in seconds.
    static let skew: Int64 = 60
    /// Year 9999: later times are mistakes, for example milliseconds.
    static let latest: Int64 = 253_402_300_799

    /// The value of `aud` that the box accepts.
    let audience: String

    /// Checks the claims.
    ///
    /// - Parameter now: seconds since 1970-01-01 00:00 UTC.
    func accept(_ claims: [JSON.Member], at now: Int64) throws(TokenRefusal) -> WebToken {
        let now = min(max(now, 0), Self.latest)
        guard let expiry = try Self.time(.expiry, claims) else { throw .missing(.expiry) }
        let notBefore = try Self.time(.notBefore, claims)
        let issuedAt = try Self.time(.issuedAt, claims)
        if let notBefore, notBefore >= expiry { throw .malformed(.notBefore) }
        if let issuedAt, issuedAt >= expiry { throw .malformed(.issuedAt) }
        guard now < expiry + Self.skew else { throw .expired(seconds: now - expiry) }
        if let notBefore, now < notBefore - Self.skew { throw .notYetValid(seconds: notBefore - now) }
        if let issuedAt, now < issuedAt - Self.skew { throw .issuedInFuture(seconds: issuedAt - now) }
        try checkAudience(claims)
        let begin = min(issuedAt ?? notBefore ?? now, now)
        return WebToken(
            scopes: try Self.scopes(claims), subject: try Self.subject(claims), issuedAt: issuedAt, expiresAt: expiry,
            refreshAt: Self.refreshTime(from: begin, to: expiry))
    }

    /// When four fifths of the time between are over; both are at most ``latest``.
    private static func refreshTime(from begin: Int64, to expiry: Int64) -> Int64 {
        let life = max(expiry - begin, 0)
        return begin + life * 4 / 5
    }

    /// A NumericDate (RFC 7519 §2) without its fraction.
    private static func time(_ claim: TokenRefusal.Claim, _ claims: [JSON.Member]) throws(TokenRefusal) -> Int64? {
        guard let value = claims[claim.rawValue] else { return nil }
        guard let number = value.numberValue, number >= 0, number <= Double(latest) else { throw .malformed(claim) }
        return Int64(number)
    }

    private func checkAudience(_ claims: [JSON.Member]) throws(TokenRefusal) {
        guard let value = claims[TokenRefusal.Claim.audience.rawValue] else { throw .missing(.audience) }
        let names = try Self.texts(value, .audience)
        guard names.contains(audience) else { throw .audience(expected: audience) }
    }

    private static func subject(_ claims: [JSON.Member]) throws(TokenRefusal) -> String? {
        guard let value = claims[TokenRefusal.Claim.subject.rawValue] else { return nil }
        guard let name = value.stringValue, name.utf8.count <= WebToken.longestSubject else {
            throw .malformed(.subject)
        }
        return name
    }

    /// Words of other services are left out (RFC 8693 §4.2).
    private static func scopes(_ claims: [JSON.Member]) throws(TokenRefusal) -> Set<WebScope> {
        guard let value = claims[TokenRefusal.Claim.scope.rawValue] else { throw .missing(.scope) }
        let words = try texts(value, .scope).flatMap { $0.split(separator: " ") }
        let scopes = Set(words.compactMap { WebScope(rawValue: String($0)) })
        guard !scopes.isEmpty else { throw .noScope }
        return scopes
    }

    /// One text, or a list of texts.
    private static func texts(_ value: JSON, _ claim: TokenRefusal.Claim) throws(TokenRefusal) -> [String] {
        if let text = value.stringValue { return [text] }
        guard case .array(let elements) = value else { throw .malformed(claim) }
        let texts = elements.compactMap(\.stringValue)
        guard texts.count == elements.count else { throw .malformed(claim) }
        return texts
    }
}
