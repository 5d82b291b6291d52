/// Reason why a token, or the signature of a push, was refused.
///
/// Nothing in it comes from the client but numbers and known words, so the description may go into a log line or a header
/// (ASCII without quotation marks).
package enum TokenRefusal: Error, Hashable, Sendable {
    package enum Part: String, Hashable, Sendable {
        case header, payload, signature
    }

    package enum Claim: String, Hashable, Sendable {
        case expiry = "exp"
        case notBefore = "nbf"
        case issuedAt = "iat"
        case audience = "aud"
        case subject = "sub"
        case scope
    }

    case tooLong(limit: Int)
    /// - count: parts between dots.
    case parts(count: Int)
    case encoding(Part)
    /// - offset: of the first unexpected byte.
    case notJSON(Part, offset: Int)
    case notObject(Part)
    case duplicateName(Part)
    case type
    case critical
    /// `alg` is `none`.
    case unsigned
    case algorithm
    case keyID
    case unknownKey
    /// No key of the algorithm exists, or the one that the token names is for another algorithm.
    case noKey(TokenAlgorithm)
    case signature
    case missing(Claim)
    case malformed(Claim)
    case expired(seconds: Int64)
    case notYetValid(seconds: Int64)
    case issuedInFuture(seconds: Int64)
    /// - expected: the box's own audience.
    case audience(expected: String)
    case noScope
    /// Of a push.
    case signatureForm
    case signatureTime(seconds: Int64)
    case noPushSecret

    /// A word for programs and the audit log.
    package var code: String {
        switch self {
        case .tooLong: "tooLong"
        case .parts: "parts"
        case .encoding: "encoding"
        case .notJSON, .notObject: "json"
        case .duplicateName: "duplicateName"
        case .type: "type"
        case .critical: "critical"
        case .unsigned: "unsigned"
        case .algorithm: "algorithm"
        case .keyID: "keyID"
        case .unknownKey: "unknownKey"
        case .noKey: "noKey"
        case .signature: "signature"
        case .missing: "missing"
        case .malformed: "malformed"
        case .expired: "expired"
        case .notYetValid: "notYetValid"
        case .issuedInFuture: "issuedInFuture"
        case .audience: "audience"
        case .noScope: "noScope"
        case .signatureForm: "signatureForm"
        case .signatureTime: "signatureTime"
        case .noPushSecret: "noPushSecret"
        }
    }
}

extension TokenRefusal: CustomStringConvertible {
    /// What is wrong, and what is accepted.
    package var description: String {
        switch self {
        case .tooLong(let limit): "the token has more than \(limit) bytes"
        case .parts(let count): "the token has \(count) parts, accepted: header.payload.signature"
        case .encoding(let part): "the token's \(part.rawValue) is not base64url without padding"
        case .notJSON(let part, let offset): "the token's \(part.rawValue) is not JSON at byte \(offset)"
        case .notObject(let part): "the token's \(part.rawValue) is not a JSON object"
        case .duplicateName(let part): "a name occurs twice in the token's \(part.rawValue)"
        case .type: "the token's typ is for another purpose, accepted: JWT, at+jwt, or none"
        case .critical: "the token has crit, and btcall knows no critical extension"
        case .unsigned: "the token is not signed (alg none)"
        case .algorithm: "the token's alg is not accepted, accepted: HS256, EdDSA"
        case .keyID: "the token's kid is not a text of 1 to \(SignedToken.longestKeyID) bytes"
        case .unknownKey: "no key has the token's kid, which is a file's name without .pem"
        case .noKey(let algorithm):
            "no key fits the token's alg \(algorithm.rawValue), which needs \(algorithm.keyKind)"
        case .signature: "the signature does not fit"
        case .missing(let claim): "the token has no \(claim.rawValue)"
        case .malformed(let claim): "the token's \(claim.rawValue) is \(claim.expectation)"
        case .expired(let seconds): "the token expired \(seconds) s ago"
        case .notYetValid(let seconds): "the token is valid in \(seconds) s only (nbf): check the clocks"
        case .issuedInFuture(let seconds): "the token was issued \(seconds) s in the future (iat): check the clocks"
        case .audience(let expected): "the token is for another service, accepted aud: \(expected)"
        case .noScope: "the token has no scope of btcall, accepted: \(WebScope.accepted)"
        case .signatureForm: "the signature is not t=SECONDS,v1=HEX with 64 digits in lower case"
        case .signatureTime(let seconds):
            "the signature's time differs by \(seconds) s, accepted: at most \(TokenRules.skew)"
        case .noPushSecret: "no secret for signatures is configured"
        }
    }
}

extension TokenRefusal.Claim {
    fileprivate var expectation: String {
        switch self {
        case .expiry, .notBefore, .issuedAt: "not a time in seconds since 1970, or not before exp"
        case .audience: "neither a text nor a list of texts"
        case .subject: "not a text of at most \(WebToken.longestSubject) bytes"
        case .scope: "neither a text of words nor a list of words"
        }
    }
}
