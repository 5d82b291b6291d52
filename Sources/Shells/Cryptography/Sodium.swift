internal import CSodium
package import ControlLoop
internal import Glibc
internal import WebTokens

/// libsodium: HMAC-SHA-256 and Ed25519. Any thread.
package struct Sodium: TokenCryptography {
    /// - Throws: `SystemError` if the library finds no source of random numbers.
    package init() throws(SystemError) {
        // 1: initialised already.
        guard sodium_init() >= 0 else { throw SystemError(call: "sodium_init", code: ENODEV) }
    }

    package func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        var code = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        // Each returns 0: nothing in them can fail.
        _ = crypto_auth_hmacsha256_init(&state, key, key.count)
        _ = crypto_auth_hmacsha256_update(&state, message, UInt64(message.count))
        _ = crypto_auth_hmacsha256_final(&state, &code)
        sodium_memzero(&state, MemoryLayout<crypto_auth_hmacsha256_state>.size)
        return code
    }

    package func isSigned(_ message: [UInt8], signature: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == Int(crypto_sign_BYTES), publicKey.count == Int(crypto_sign_PUBLICKEYBYTES) else {
            return false
        }
        return crypto_sign_verify_detached(signature, message, UInt64(message.count), publicKey) == 0
    }

    package func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && sodium_memcmp(one, other, one.count) == 0
    }
}
