/// The keys that verify tokens and pushes.
package struct TokenKeys: Sendable {
    /// Each public key costs a signature check per token without `kid`.
    package static let mostPublicKeys = 16

    /// A secret's key comes first.
    let keys: [TokenKey]
    let pushSecret: [UInt8]?
    let rules: TokenRules
    let cryptography: any TokenCryptography

    /// - Parameters:
    ///   - secret: contents of the secret file for HS256, at least 32 bytes; nil without one.
    ///   - publicKeys: contents of Ed25519 public key files, PEM or JSON Web Key, by file name.
    ///   - pushSecret: contents of the secret file for signatures of pushes, at least 32 bytes; nil without one.
    ///   - audience: required `aud`.
    package init(
        secret: [UInt8]?, publicKeys: [String: [UInt8]], pushSecret: [UInt8]?, audience: String,
        cryptography: any TokenCryptography
    ) throws(TokenKeyError) {
        var keys: [TokenKey] = []
        if let secret = secret.map(TokenKey.secret) {
            guard secret.count >= TokenKey.shortestSecret else { throw .shortSecret(bytes: secret.count) }
            keys.append(TokenKey(id: nil, material: .secret(secret)))
        }
        let pushSecret = pushSecret.map(TokenKey.secret)
        if let pushSecret, pushSecret.count < TokenKey.shortestSecret {
            throw .shortPushSecret(bytes: pushSecret.count)
        }
        guard publicKeys.count <= Self.mostPublicKeys else { throw .tooManyKeys(limit: Self.mostPublicKeys) }
        for (file, bytes) in publicKeys.sorted(by: { $0.key < $1.key }) {
            keys.append(try TokenKey(publicKey: bytes, file: file))
        }
        self.keys = keys
        self.pushSecret = pushSecret
        rules = TokenRules(audience: audience)
        self.cryptography = cryptography
    }

    /// Verifies the text after `Bearer `: first the signature, then the claims, so that only an issuer learns what is wrong
    /// with its claims.
    ///
    /// - Parameter now: seconds since 1970-01-01 00:00 UTC.
    package func verify(_ token: some StringProtocol, now: Int64) throws(TokenRefusal) -> WebToken {
        let token = try SignedToken(reading: token.utf8)
        let candidates = try candidates(for: token)
        guard candidates.contains(where: { isSigned(token, by: $0) }) else { throw .signature }
        return try rules.accept(token.claims, at: now)
    }

    /// A key serves its own algorithm only: a public key is never a secret.
    private func candidates(for token: SignedToken) throws(TokenRefusal) -> [TokenKey] {
        // The secret has no name, so a token of HS256 may have any kid.
        let named = keys.filter { $0.id == nil || token.keyID == nil || $0.id == token.keyID }
        let candidates = named.filter { $0.algorithm == token.algorithm }
        if candidates.isEmpty {
            let isKnown = keys.contains { $0.algorithm == token.algorithm }
            throw isKnown ? TokenRefusal.unknownKey : .noKey(token.algorithm)
        }
        return candidates
    }

    private func isSigned(_ token: SignedToken, by key: TokenKey) -> Bool {
        switch key.material {
        case .secret(let secret):
            cryptography.areEqual(
                cryptography.authenticationCode(of: token.signedBytes, key: secret), token.signature)
        case .ed25519(let publicKey):
            cryptography.isSigned(token.signedBytes, signature: token.signature, publicKey: publicKey)
        }
    }
}
