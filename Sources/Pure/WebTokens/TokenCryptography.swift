/// The cryptography of tokens and signatures of pushes: `Sodium` in the module `Cryptography`.
package protocol TokenCryptography: Sendable {
    /// HMAC-SHA-256 (RFC 2104): 32 bytes.
    func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8]

    /// Whether a signature is Ed25519's of a message (RFC 8032 §5.1.7). False for any wrong length.
    func isSigned(_ message: [UInt8], signature: [UInt8], publicKey: [UInt8]) -> Bool

    /// Compares in a time that depends on the lengths only.
    func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool
}
