import JSONText
import TestSupport
import Testing

@testable import WebTokens

@Suite struct WebTokenTests {
    private static let rules = TokenRules(audience: "box")

    private static func accept(
        _ times: [(String, JSON)], at now: Int64
    ) throws(TokenRefusal) -> WebToken {
        let claims = [("aud", "box"), ("scope", "read")] + times
        return try rules.accept(claims.map { JSON.Member($0.0, $0.1) }, at: now)
    }

    @Test func `admin includes all scopes, and no other scope includes one`() {
        for scope in WebScope.allCases {
            let token = WebToken(scopes: [scope], subject: nil, issuedAt: nil, expiresAt: 0, refreshAt: 0)
            for other in WebScope.allCases { #expect(token.allows(other) == (scope == other || scope == .admin)) }
        }
        #expect(WebScope.accepted == "read, calls, route, provider, pair, admin")
    }

    @Test func `the next token is asked for when 80 % of the life are over`() throws {
        for (times, now, refresh) in [
            ([("iat", 1000), ("exp", 2000)], 1000, 1800), ([("iat", 1000), ("exp", 1001)], 1000, 1000),
            ([("iat", 1000), ("exp", 1005)], 1000, 1004), ([("iat", 1000), ("exp", 1007)], 1000, 1005),
            // Without iat from nbf; without both from now; never from a time to come.
            ([("nbf", 500), ("exp", 1500)], 1000, 1300), ([("exp", 2000)], 1000, 1800),
            ([("iat", 1060), ("exp", 2000)], 1000, 1800), ([("nbf", 1060), ("exp", 2000)], 1000, 1800),
            // Accepted within the skew after its end.
            ([("iat", 0), ("exp", 1000)], 1059, 800), ([("exp", 1000)], 1059, 1059),
            ([("iat", 0), ("exp", 253_402_300_799)], 0, 202_721_840_639),
        ] as [([(String, JSON)], Int64, Int64)] {
            #expect(try Self.accept(times, at: now).refreshAt == refresh, "\(times)")
        }
    }

    @Test func `the clocks may differ by 60 s`() throws {
        for (times, first, last) in [
            ([("exp", 1000)], 0, 1059), ([("nbf", 1000), ("exp", 2000)], 940, 2059),
            ([("iat", 1000), ("exp", 2000)], 940, 2059), ([("nbf", 1100), ("iat", 1000), ("exp", 2000)], 1040, 2059),
        ] as [([(String, JSON)], Int64, Int64)] {
            #expect(try Self.accept(times, at: first).expiresAt > 0)
            #expect(try Self.accept(times, at: last).expiresAt > 0)
            #expect(throws: TokenRefusal.self) { try Self.accept(times, at: last + 1) }
            if first > 0 { #expect(throws: TokenRefusal.self) { try Self.accept(times, at: first - 1) } }
        }
        #expect(throws: TokenRefusal.expired(seconds: 60)) { try Self.accept([("exp", 1000)], at: 1060) }
        #expect(throws: TokenRefusal.notYetValid(seconds: 61)) {
            try Self.accept([("exp", 2000), ("nbf", 1000)], at: 939)
        }
        #expect(throws: TokenRefusal.issuedInFuture(seconds: 61)) {
            try Self.accept([("exp", 2000), ("iat", 1000)], at: 939)
        }
    }

    @Test func `a token that is cut anywhere, and random bytes, are refused without a trap`() throws {
        let header = Base64URL.text(#"{"alg":"HS256","typ":"JWT","kid":"a"}"#.utf8)
        let payload = Base64URL.text(#"{"aud":"box","exp":1,"scope":"read"}"#.utf8)
        let token = Array("\(header).\(payload).\(Base64URL.text([UInt8](repeating: 7, count: 32)))".utf8)
        #expect(try SignedToken(reading: token).signature.count == 32)
        // Cut in the signature it is still a token, with another signature.
        for length in 0..<(header.utf8.count + payload.utf8.count + 1) {
            #expect(throws: TokenRefusal.self) { try SignedToken(reading: token.prefix(length)) }
        }
        var random = SeededGenerator(seed: 8)
        let pieces = ["{", "}", "\"", ":", ",", "[", "]", "alg", "HS256", "\\u00", "1e9", "crit", "exp", "\u{0}"]
        for _ in 0..<2000 {
            let parts = (0..<3).map { _ in
                let text = (0..<Int.random(in: 0...12, using: &random)).map { _ in
                    pieces.randomElement(using: &random) ?? ""
                }
                return Base64URL.text(text.joined().utf8)
            }
            #expect(throws: TokenRefusal.self) { try SignedToken(reading: parts.joined(separator: ".").utf8) }
            let bytes = (0..<Int.random(in: 0...99, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            #expect(throws: TokenRefusal.self) { try SignedToken(reading: bytes) }
        }
    }

    @Test func `a refusal has a word of its own, and a text for the log`() {
        let refusals: [TokenRefusal] = [
            .tooLong(limit: 1), .parts(count: 2), .encoding(.header), .notJSON(.payload, offset: 3),
            .duplicateName(.header),
            .type, .critical, .unsigned, .algorithm, .keyID, .unknownKey, .noKey(.hs256), .signature,
            .missing(.expiry), .malformed(.audience), .expired(seconds: 1), .notYetValid(seconds: 1),
            .issuedInFuture(seconds: 1), .audience(expected: "box"), .noScope, .signatureForm,
            .signatureTime(seconds: 61), .noPushSecret,
        ]
        #expect(Set(refusals.map(\.code)).count == refusals.count)
        #expect(Set(refusals.map(\.description)).count == refusals.count)
        #expect(
            TokenRefusal.malformed(.expiry).description
                == "the token's exp is not a time in seconds since 1970, or not before exp")
    }
}
