import JSONText

/// A key that accepts tokens.
struct TokenKey: Hashable, Sendable {
    enum Material: Hashable, Sendable {
        /// For HS256: at least ``shortestSecret`` bytes.
        case secret([UInt8])
        /// For EdDSA with Ed25519: the 32 bytes of the public key (RFC 8032 §5.1.5).
        case ed25519([UInt8])
    }

    /// As many bytes as the hash has (RFC 7518 §3.2).
    static let shortestSecret = 32
    static let publicKeyBytes = 32

    /// What a token's `kid` names; nil for the secret, which has no name.
    let id: String?
    let material: Material

    var algorithm: TokenAlgorithm {
        switch material {
        case .secret: .hs256
        case .ed25519: .edDSA
        }
    }
}

/// Reason why the contents of a key file were refused. Contains nothing of the contents.
package enum TokenKeyError: Error, Hashable, Sendable, CustomStringConvertible {
    /// - bytes: of the secret, without a final line end.
    case shortSecret(bytes: Int)
    case shortPushSecret(bytes: Int)
    case privateKey(file: String)
    case notPublicKey(file: String)
    case tooManyKeys(limit: Int)
    case noPushSecret
    /// A token cannot be made without a secret.
    case noSecret
    case noScope
    case life(longest: Int64)
    case longSubject(limit: Int)

    package var description: String {
        switch self {
        case .shortSecret(let bytes): "the secret for tokens \(Self.length(bytes))"
        case .shortPushSecret(let bytes): "the secret for signatures of pushes \(Self.length(bytes))"
        case .privateKey(let file):
            "\(file) is a private key, which stays with the issuer: use the public one (openssl pkey -pubout)"
        case .notPublicKey(let file):
            "\(file) is not an Ed25519 public key, accepted: PEM (openssl pkey -pubout) or a JSON Web Key"
        case .tooManyKeys(let limit): "more than \(limit) public keys: remove those that no issuer uses"
        case .noSecret: "no secret for tokens"
        case .noPushSecret: "no secret for signatures of pushes"
        case .noScope: "a token needs a scope, accepted: \(WebScope.accepted)"
        case .life(let longest): "a token lives 1 to \(longest) s"
        case .longSubject(let limit): "the subject has more than \(limit) bytes"
        }
    }

    private static func length(_ bytes: Int) -> String {
        "has \(bytes) bytes, accepted: at least \(TokenKey.shortestSecret) (head -c 32 /dev/urandom | base64)"
    }
}

extension TokenKey {
    /// The secret in a file: all of its bytes. A final line end of a file of printable ASCII does not count.
    static func secret(_ file: [UInt8]) -> [UInt8] {
        guard file.last == UInt8(ascii: "\n") else { return file }
        var text = file.dropLast()
        if text.last == UInt8(ascii: "\r") { text.removeLast() }
        return text.allSatisfy { (0x20...0x7E).contains($0) } ? Array(text) : file
    }

    /// Reads the contents of a public key file: PEM (RFC 8410 §10.1) or a JSON Web Key (RFC 8037 §2), whose `kid` replaces
    /// the file's name without its ending.
    init(publicKey bytes: [UInt8], file: String) throws(TokenKeyError) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard !Self.namesPrivateKey(bytes) else { throw .privateKey(file: file) }
        let name = file.lastIndex(of: ".").map { String(file[..<$0]) } ?? file
        if let key = Self.pem(text) {
            self.init(id: name, material: .ed25519(key))
            return
        }
        // Whatever is wrong with it as JSON, it is no key.
        guard let json = try? JSON(reading: bytes, rules: JSONRules(bytes: 1 << 16, depth: 8)) else {
            throw .notPublicKey(file: file)
        }
        guard json["d"] == nil else { throw .privateKey(file: file) }
        guard json["kty"]?.stringValue == "OKP", json["crv"]?.stringValue == "Ed25519",
            let x = json["x"]?.stringValue, let key = Base64URL.bytes(x.utf8), key.count == Self.publicKeyBytes
        else { throw .notPublicKey(file: file) }
        self.init(id: json["kid"]?.stringValue ?? name, material: .ed25519(key))
    }

    /// Whether a file has the label of a private key. A string's own `contains` would bring the regular expression library
    /// into btcall-web, more than 1 MB.
    private static func namesPrivateKey(_ file: [UInt8]) -> Bool {
        let label = Array("PRIVATE KEY".utf8)
        return file.indices.contains { file[$0...].starts(with: label) }
    }

    /// SubjectPublicKeyInfo of Ed25519 up to the key's bytes (RFC 8410 §4).
    private static let prefix: [UInt8] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00]

    private static func pem(_ text: String) -> [UInt8]? {
        let lines = text.split(whereSeparator: \.isNewline)
        guard let first = lines.firstIndex(of: "-----BEGIN PUBLIC KEY-----"),
            let last = lines[first...].firstIndex(of: "-----END PUBLIC KEY-----")
        else { return nil }
        let characters = lines[(first + 1)..<last].joined().utf8.map { character in
            switch character {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            default: character
            }
        }
        // 44 bytes have one character of padding.
        guard characters.last == UInt8(ascii: "="), let bytes = Base64URL.bytes(characters.dropLast()),
            bytes.count == prefix.count + publicKeyBytes, bytes.starts(with: prefix)
        else { return nil }
        return Array(bytes.dropFirst(prefix.count))
    }
}
