import JSONText

/// Accepted signature algorithms.
package enum TokenAlgorithm: String, Hashable, Sendable {
    /// RFC 7518 §3.2.
    case hs256 = "HS256"
    /// With Ed25519 (RFC 8037 §3.1).
    case edDSA = "EdDSA"

    /// - Parameter name: a token's `alg`. `Ed25519` is the newer name of the same algorithm (RFC 9864 §2.2).
    init?(name: String) {
        switch name {
        case "HS256": self = .hs256
        case "EdDSA", "Ed25519": self = .edDSA
        default: return nil
        }
    }

    /// For a message.
    var keyKind: String {
        switch self {
        case .hs256: "a secret file"
        case .edDSA: "a public key file"
        }
    }
}

/// A JSON Web Token in compact form (RFC 7519, RFC 7515 §7.1), read but not yet trusted.
struct SignedToken: Hashable, Sendable {
    /// Most bytes of a token.
    static let longest = 4096
    static let longestKeyID = 128
    /// Deeper objects occur in no token that btcall reads anything from.
    private static let rules = JSONRules(bytes: longest, depth: 8, numberLength: 64)

    let algorithm: TokenAlgorithm
    let keyID: String?
    /// The payload, a JSON object.
    let claims: [JSON.Member]
    /// Header and payload as they were signed, with the dot between them.
    let signedBytes: [UInt8]
    let signature: [UInt8]

    /// Reads the text after `Bearer `.
    init(reading text: some Collection<UInt8>) throws(TokenRefusal) {
        guard text.count <= Self.longest else { throw .tooLong(limit: Self.longest) }
        let parts = text.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .parts(count: parts.count) }
        let header = try Self.object(parts[0], .header)
        claims = try Self.object(parts[1], .payload)
        guard let signature = Base64URL.bytes(parts[2]) else { throw .encoding(.signature) }
        self.signature = signature
        signedBytes = Array(text.prefix(parts[0].count + 1 + parts[1].count))
        algorithm = try Self.algorithm(header)
        keyID = try Self.keyID(header)
        guard header["crit"] == nil else { throw .critical }
        try Self.checkType(header)
    }

    private static func object(
        _ text: some Collection<UInt8>, _ part: TokenRefusal.Part
    ) throws(TokenRefusal) -> [JSON.Member] {
        guard let bytes = Base64URL.bytes(text) else { throw .encoding(part) }
        // The reader would skip a byte order mark, which RFC 8259 §8.1 forbids.
        guard bytes.first != 0xEF else { throw .notJSON(part, offset: 0) }
        let value: JSON
        do throws(JSONError) {
            value = try JSON(reading: bytes, rules: rules)
        } catch {
            if case .duplicateName = error.problem { throw .duplicateName(part) }
            throw .notJSON(part, offset: error.offset)
        }
        guard case .object(let members) = value else { throw .notObject(part) }
        return members
    }

    private static func algorithm(_ header: [JSON.Member]) throws(TokenRefusal) -> TokenAlgorithm {
        guard let name = header["alg"]?.stringValue else { throw .algorithm }
        // Some readers once compared without regard to case, so attackers vary it.
        guard name.lowercased() != "none" else { throw .unsigned }
        guard let algorithm = TokenAlgorithm(name: name) else { throw .algorithm }
        return algorithm
    }

    private static func keyID(_ header: [JSON.Member]) throws(TokenRefusal) -> String? {
        guard let value = header["kid"] else { return nil }
        guard let name = value.stringValue, (1...longestKeyID).contains(name.utf8.count) else { throw .keyID }
        return name
    }

    private static func checkType(_ header: [JSON.Member]) throws(TokenRefusal) {
        guard let value = header["typ"] else { return }
        let accepted = ["jwt", "at+jwt", "application/at+jwt"]
        guard let name = value.stringValue, accepted.contains(name.lowercased()) else { throw .type }
    }
}
