import Cryptography
import Testing
import WebTokens

@Suite struct TokenKeyTests {
    private static let secret = Array("0123456789abcdef0123456789abcdef".utf8)
    private static let pem = """
        -----BEGIN PUBLIC KEY-----
        MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
        -----END PUBLIC KEY-----

        """

    private func keys(
        secret: [UInt8]? = nil, publicKeys: [String: [UInt8]] = [:], pushSecret: [UInt8]? = nil
    ) throws -> TokenKeys {
        try TokenKeys(
            secret: secret, publicKeys: publicKeys, pushSecret: pushSecret, audience: "btcall",
            cryptography: try Sodium())
    }

    private func refusal(_ text: String) -> TokenKeyError? {
        #expect(throws: TokenKeyError.self) { try keys(publicKeys: ["a.pem": Array(text.utf8)]) }
    }

    @Test func `a secret has at least 32 bytes, without the line end of a text`() throws {
        let token = try keys(secret: Self.secret).mint([.read], subject: nil, seconds: 60, now: 0)
        for end in ["\n", "\r\n"] {
            #expect(try keys(secret: Self.secret + Array(end.utf8)).verify(token, now: 0).scopes == [.read])
        }
        // Bytes that are no text are a secret as they are.
        let binary = [0] + Self.secret.dropFirst(2) + [0x0A]
        let other = try keys(secret: binary).mint([.read], subject: nil, seconds: 60, now: 0)
        #expect(throws: TokenRefusal.signature) {
            try keys(secret: binary.dropLast() + [0x0B]).verify(other, now: 0)
        }
        #expect(throws: TokenKeyError.shortSecret(bytes: 31)) {
            try keys(secret: Array(Self.secret.dropLast()) + [0x0A])
        }
        #expect(throws: TokenKeyError.shortSecret(bytes: 0)) { try keys(secret: []) }
        #expect(throws: TokenKeyError.shortPushSecret(bytes: 31)) {
            try keys(pushSecret: Array(Self.secret.dropLast()))
        }
        #expect(
            TokenKeyError.shortSecret(bytes: 3).description
                == "the secret for tokens has 3 bytes, accepted: at least 32 (head -c 32 /dev/urandom | base64)")
    }

    @Test func `a public key file is PEM or a JSON Web Key, and anything else is refused by name`() throws {
        _ = try keys(publicKeys: ["a.pem": Array(Self.pem.utf8)])
        _ = try keys(publicKeys: ["a.pem": Array(("a comment\r\n" + Self.pem.replacing("\n", with: "\r\n")).utf8)])
        #expect(refusal(Self.pem.replacing("PUBLIC", with: "PRIVATE")) == .privateKey(file: "a.pem"))
        #expect(
            refusal(
                #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}"#
            ) == .privateKey(file: "a.pem"))
        for text in [
            "", "\n", "-----BEGIN PUBLIC KEY-----\n", "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
            // Of another curve (X25519), cut, with another character, and with a byte more.
            Self.pem.replacing("MCowBQYDK2Vw", with: "MCowBQYDK2Vu"), Self.pem.replacing("cHURo=", with: "cHUR="),
            Self.pem.replacing("11qY", with: "11*Y"), Self.pem.replacing("HURo=", with: "HURoAA=="),
            "{}", "[]", #"{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}"#, #"{"kty":"OKP","crv":"Ed25519","x":"AAAA"}"#,
            #"{"kty":"OKP","crv":"Ed448","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINdamAGCsQq31Uv+08lkBzoO4XLz2qYjJa8CGmj3B1Ea",
        ] {
            #expect(refusal(text) == .notPublicKey(file: "a.pem"), "\(text)")
        }
    }

    @Test func `a key of one algorithm does not serve the other`() throws {
        let secretOnly = try keys(secret: Self.secret)
        let publicOnly = try keys(publicKeys: ["a.pem": Array(Self.pem.utf8)])
        let token = try secretOnly.mint([.admin], subject: nil, seconds: 60, now: 0)
        #expect(throws: TokenRefusal.noKey(.hs256)) { try publicOnly.verify(token, now: 0) }
        let header = Base64URL.text(#"{"alg":"EdDSA"}"#.utf8)
        let text = "\(header).e30.\(Base64URL.text([UInt8](repeating: 0, count: 64)))"
        #expect(throws: TokenRefusal.noKey(.edDSA)) { try secretOnly.verify(text, now: 0) }
        #expect(throws: TokenRefusal.signature) { try publicOnly.verify(text, now: 0) }
        let none = try keys()
        for token in [token, text] {
            let refusal = #expect(throws: TokenRefusal.self) { try none.verify(token, now: 0) }
            #expect(refusal?.code == "noKey")
        }
        #expect(throws: TokenKeyError.noSecret) { try publicOnly.mint([.read], subject: nil, seconds: 60, now: 0) }
        #expect(throws: TokenRefusal.noPushSecret) {
            try secretOnly.verifySignature("t=0,v1=\(String(repeating: "0", count: 64))", body: [], now: 0)
        }
    }

    @Test func `a token is minted only with a scope, a life and a short subject`() throws {
        let keys = try keys(secret: Self.secret)
        #expect(throws: TokenKeyError.noScope) { try keys.mint([], subject: nil, seconds: 60, now: 0) }
        for seconds in [Int64.min, -1, 0, TokenKeys.longestLife + 1, .max] {
            #expect(throws: TokenKeyError.life(longest: TokenKeys.longestLife)) {
                try keys.mint([.read], subject: nil, seconds: seconds, now: 0)
            }
        }
        #expect(throws: TokenKeyError.longSubject(limit: 128)) {
            try keys.mint([.read], subject: String(repeating: "s", count: 129), seconds: 60, now: 0)
        }
        let subject = String(repeating: "\u{E4}", count: 64)
        let token = try keys.mint([.read], subject: subject, seconds: 60, now: 0)
        #expect(try keys.verify(token, now: 0).subject == subject)
    }

    @Test func `seventeen public keys are refused`() throws {
        let files = (0..<17).map { ("\($0).pem", Array(Self.pem.utf8)) }
        #expect(throws: TokenKeyError.tooManyKeys(limit: 16)) {
            try keys(publicKeys: Dictionary(uniqueKeysWithValues: files))
        }
        _ = try keys(publicKeys: Dictionary(uniqueKeysWithValues: files.dropLast()))
    }
}
