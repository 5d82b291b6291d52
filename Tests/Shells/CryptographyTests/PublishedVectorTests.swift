import Cryptography
import Testing
import WebTokens

/// Examples that the standards publish.
@Suite struct PublishedVectorTests {
    private let sodium: Sodium

    init() throws { sodium = try Sodium() }

    private static func bytes(_ hexadecimal: String) throws -> [UInt8] {
        let digits = Array(hexadecimal)
        return try stride(from: 0, to: digits.count, by: 2).map {
            try #require(UInt8(String(digits[$0...($0 + 1)]), radix: 16))
        }
    }

    /// Key, message, code.
    private static let codes: [(String, String, String)] = [
        // RFC 4231 §4.2 to §4.5, §4.7, §4.8.
        (
            String(repeating: "0b", count: 20), "4869205468657265",
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        (
            "4a656665", "7768617420646f2079612077616e7420666f72206e6f7468696e673f",
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        (
            String(repeating: "aa", count: 20), String(repeating: "dd", count: 50),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        (
            "0102030405060708090a0b0c0d0e0f10111213141516171819", String(repeating: "cd", count: 50),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        (
            String(repeating: "aa", count: 131),
            "54657374205573696e67204c6172676572205468616e20426c6f636b2d53697a65204b6579202d2048617368204b6579204669727374",
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        (
            String(repeating: "aa", count: 131),
            "5468697320697320612074657374207573696e672061206c6172676572207468616e20626c6f636b2d73697a65206b657920616e642061206c6172676572207468616e20626c6f636b2d73697a6520646174612e20546865206b6579206e6565647320746f20626520686173686564206265666f7265206265696e6720757365642062792074686520484d414320616c676f726974686d2e",
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    @Test func `HMAC-SHA-256 has the codes of RFC 4231`() throws {
        for (key, message, code) in Self.codes {
            let made = sodium.authenticationCode(of: try Self.bytes(message), key: try Self.bytes(key))
            #expect(made == (try Self.bytes(code)))
        }
    }

    /// Public key, message, signature: RFC 8032 §7.1, tests 1 to 3.
    private static let signatures: [(String, String, String)] = [
        (
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"
        ),
        (
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
        ),
        (
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025", "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
        ),
    ]

    @Test func `Ed25519 accepts the signatures of RFC 8032, and none that differs in one bit or in its length`() throws
    {
        for (key, message, signature) in Self.signatures {
            let (key, message) = (try Self.bytes(key), try Self.bytes(message))
            let signature = try Self.bytes(signature)
            #expect(sodium.isSigned(message, signature: signature, publicKey: key))
            #expect(!sodium.isSigned(message + [0], signature: signature, publicKey: key))
            for bit in 0..<512 {
                var other = signature
                other[bit / 8] ^= 1 << (bit % 8)
                #expect(!sodium.isSigned(message, signature: other, publicKey: key))
            }
            for length in [0, 1, 32, 63] {
                #expect(!sodium.isSigned(message, signature: Array(signature.prefix(length)), publicKey: key))
            }
            #expect(!sodium.isSigned(message, signature: signature + [0], publicKey: key))
            #expect(!sodium.isSigned(message, signature: signature, publicKey: Array(key.dropLast())))
            #expect(!sodium.isSigned(message, signature: signature, publicKey: key + [0]))
        }
    }

    @Test func `a public key of small order accepts nothing`() throws {
        // The neutral element signs every message with R = neutral, S = 0.
        let neutral: [UInt8] = [1] + [UInt8](repeating: 0, count: 31)
        let signature = neutral + [UInt8](repeating: 0, count: 32)
        #expect(!sodium.isSigned(Array("any".utf8), signature: signature, publicKey: neutral))
    }

    @Test func `the token of RFC 7515 A.1 has a valid signature and no audience`() throws {
        let secret = try #require(
            Base64URL.bytes(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow".utf8))
        let keys = try TokenKeys(
            secret: secret, publicKeys: [:], pushSecret: nil, audience: "joe", cryptography: sodium)
        let token =
            "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
        #expect(throws: TokenRefusal.missing(.audience)) { try keys.verify(token, now: 1_300_819_380) }
        #expect(throws: TokenRefusal.expired(seconds: 60)) { try keys.verify(token, now: 1_300_819_440) }
        #expect(throws: TokenRefusal.signature) { try keys.verify(token.replacing("dBjf", with: "dBjg"), now: 0) }
    }

    @Test func `the signature of RFC 8037 A.4 is valid`() throws {
        let parts =
            "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
            .split(separator: ".")
        let key = try #require(Base64URL.bytes("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo".utf8))
        let signature = try #require(Base64URL.bytes(parts[2].utf8))
        let message = Array("\(parts[0]).\(parts[1])".utf8)
        #expect(sodium.isSigned(message, signature: signature, publicKey: key))
        #expect(!sodium.isSigned(message + [0], signature: signature, publicKey: key))
        // The same key as a file.
        let file = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        let keys = try TokenKeys(
            secret: nil, publicKeys: ["rfc.jwk": Array(file.utf8)], pushSecret: nil, audience: "a",
            cryptography: sodium)
        // Its payload is a sentence.
        #expect(throws: TokenRefusal.notJSON(.payload, offset: 0)) {
            try keys.verify(parts.joined(separator: "."), now: 0)
        }
    }
}
