package import JSONText

extension TokenKeys {
    /// Longest life of a minted token in seconds: a year.
    package static let longestLife: Int64 = 366 * 86_400

    /// Makes a token, signed with HS256 and the secret.
    ///
    /// - Parameters:
    ///   - subject: the client's name in the audit log.
    ///   - seconds: its life, 1 to ``longestLife``.
    ///   - now: seconds since 1970-01-01 00:00 UTC.
    package func mint(
        _ scopes: Set<WebScope>, subject: String?, seconds: Int64, now: Int64
    ) throws(TokenKeyError) -> String {
        guard case .secret(let secret)? = keys.first?.material else { throw .noSecret }
        guard !scopes.isEmpty else { throw .noScope }
        guard (1...Self.longestLife).contains(seconds) else { throw .life(longest: Self.longestLife) }
        if let subject, subject.utf8.count > WebToken.longestSubject {
            throw .longSubject(limit: WebToken.longestSubject)
        }
        let now = min(max(now, 0), TokenRules.latest - Self.longestLife)
        let header: JSON = ["alg": .string(TokenAlgorithm.hs256.rawValue), "typ": "JWT"]
        var claims: [(String, JSON)] = [("aud", .string(rules.audience))]
        if let subject { claims.append(("sub", .string(subject))) }
        let words = WebScope.allCases.filter(scopes.contains).map(\.rawValue).joined(separator: " ")
        claims += [("scope", .string(words)), ("iat", JSON(now)), ("exp", JSON(now + seconds))]
        let signed = Base64URL.text(header.text().utf8) + "." + Base64URL.text(JSON(claims).text().utf8)
        let code = cryptography.authenticationCode(of: Array(signed.utf8), key: secret)
        return signed + "." + Base64URL.text(code)
    }

    /// A minted token for its client.
    ///
    /// - Parameter end: in ISO 8601.
    package func json(_ token: String, _ scopes: Set<WebScope>, subject: String?, end: String) -> JSON {
        [
            "token": .string(token), "scopes": JSON(WebScope.allCases.filter(scopes.contains).map(\.rawValue)),
            "subject": JSON(subject), "audience": .string(rules.audience), "expiresAt": .string(end),
        ]
    }
}
