extension TokenKeys {
    /// Verifies the header `Btcall-Signature` of a push: `t=SECONDS,v1=HEX`, where HEX is the HMAC-SHA-256 of SECONDS, a
    /// full stop and the body.
    ///
    /// - Parameter now: seconds since 1970-01-01 00:00 UTC.
    /// - Returns: SECONDS. The signature is valid again until ``TokenRules/skew`` seconds later: the caller refuses one that it
    ///   has seen.
    package func verifySignature(
        _ header: some StringProtocol, body: [UInt8], now: Int64
    ) throws(TokenRefusal) -> Int64 {
        guard let pushSecret else { throw .noPushSecret }
        guard let signature = PushSignature(header) else { throw .signatureForm }
        let message = Array("\(signature.time).".utf8) + body
        guard cryptography.areEqual(cryptography.authenticationCode(of: message, key: pushSecret), signature.code)
        else { throw .signature }
        let now = min(max(now, 0), TokenRules.latest)
        let difference = max(now, signature.time) - min(now, signature.time)
        guard difference <= TokenRules.skew else { throw .signatureTime(seconds: difference) }
        return signature.time
    }

    /// The header's value for a body, for a program that pushes.
    package func signature(of body: [UInt8], now: Int64) throws(TokenKeyError) -> String {
        guard let pushSecret else { throw .noPushSecret }
        let now = min(max(now, 0), TokenRules.latest)
        let code = cryptography.authenticationCode(of: Array("\(now).".utf8) + body, key: pushSecret)
        return "t=\(now),v1=\(PushSignature.digits(of: code))"
    }
}

/// The parts of the header.
struct PushSignature: Hashable, Sendable {
    private static let codeDigits = 64
    private static let mostTimeDigits = 12

    /// At most ``TokenRules/latest``.
    let time: Int64
    /// 32 bytes.
    let code: [UInt8]

    /// - Returns: nil for any other form, also for leading zeros, which would have a code of their own.
    init?(_ header: some StringProtocol) {
        let fields = header.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard fields.count == 2, fields[0].starts(with: "t=".utf8), fields[1].starts(with: "v1=".utf8) else {
            return nil
        }
        let digits = String(decoding: fields[0].dropFirst(2), as: UTF8.self)
        guard digits.utf8.count <= Self.mostTimeDigits, let time = Int64(digits), time >= 0,
            time <= TokenRules.latest, String(time) == digits, let code = Self.bytes(fields[1].dropFirst(3))
        else { return nil }
        self.time = time
        self.code = code
    }

    private static func bytes(_ text: some Sequence<UInt8>) -> [UInt8]? {
        let digits = Array(text)
        guard digits.count == codeDigits else { return nil }
        var bytes: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(of: digits[index]), let low = value(of: digits[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit - 0x30
        case 0x61...0x66: digit - 0x61 + 10
        default: nil
        }
    }

    static func digits(of bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
