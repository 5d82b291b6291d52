import Cryptography
import Foundation
import Testing
import WebTokens

/// The tables of `Vectors`, made by other programs: Vectors/make.py.
@Suite struct TokenTableTests {
    private static let now: Int64 = 1_800_000_000
    private let keys: TokenKeys

    init() throws {
        keys = try TokenKeys(
            secret: try Self.file("secret"),
            publicKeys: ["issuer.pem": try Self.file("issuer.pem"), "gate.jwk": try Self.file("gate.jwk")],
            pushSecret: try Self.file("push-secret"), audience: "btcall", cryptography: try Sodium())
    }

    private static func file(_ name: String) throws -> [UInt8] {
        let folder = try #require(Bundle.module.url(forResource: "Vectors", withExtension: nil))
        return Array(try Data(contentsOf: folder.appending(path: name)))
    }

    private static func rows(_ name: String) throws -> [[String]] {
        String(decoding: try file(name), as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("#") }
            .map { $0.split(separator: "\t", omittingEmptySubsequences: false).map(String.init) }
    }

    @Test func `each token of the table is accepted or refused as the table says`() throws {
        let rows = try Self.rows("tokens.tsv")
        #expect(rows.count >= 120)
        #expect(Set(rows.map { $0[1] }).count >= 18)
        for row in rows {
            try #require(row.count == 7, "\(row[0])")
            let token = row[6].replacing("\\n", with: "\n")
            do throws(TokenRefusal) {
                let accepted = try keys.verify(token, now: Self.now)
                let scopes = WebScope.allCases.filter(accepted.scopes.contains).map(\.rawValue)
                #expect(row[1] == "ok", "\(row[0]): accepted")
                #expect(scopes.joined(separator: " ") == row[2], "\(row[0])")
                #expect(accepted.subject ?? "" == row[3], "\(row[0])")
                #expect(String(accepted.expiresAt) == row[4] && String(accepted.refreshAt) == row[5], "\(row[0])")
            } catch {
                #expect(error.code == row[1], "\(row[0]): \(error)")
                #expect(!error.description.isEmpty)
                // Nothing of the token is in the message: no text of the client reaches the log or a header.
                #expect(error.description.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != UInt8(ascii: "\"") })
                for part in token.split(separator: ".") where part.utf8.count > 8 {
                    #expect(!error.description.contains(part), "\(row[0])")
                }
            }
        }
    }

    @Test func `no character of a token can be changed, removed or added`() throws {
        let rows = try Self.rows("tokens.tsv")
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ ".utf8)
        for name in ["HS256", "EdDSA"] {
            let token = Array(try #require(rows.first { $0[0] == name })[6].utf8)
            // Each check of Ed25519 takes a while.
            let step = name == "HS256" ? 2 : 16
            for position in token.indices {
                for index in stride(from: position % step, to: alphabet.count, by: step)
                where alphabet[index] != token[position] {
                    var changed = token
                    changed[position] = alphabet[index]
                    #expect(throws: TokenRefusal.self) {
                        try keys.verify(String(decoding: changed, as: UTF8.self), now: Self.now)
                    }
                }
                var changed = token
                changed.remove(at: position)
                #expect(throws: TokenRefusal.self) {
                    try keys.verify(String(decoding: changed, as: UTF8.self), now: Self.now)
                }
                changed = token
                changed.insert(UInt8(ascii: "A"), at: position)
                #expect(throws: TokenRefusal.self) {
                    try keys.verify(String(decoding: changed, as: UTF8.self), now: Self.now)
                }
            }
        }
    }

    @Test func `no clock traps`() throws {
        let token = try #require(try Self.rows("tokens.tsv").first { $0[0] == "HS256" })[6]
        for now in [Int64.min, -1, 0, .max] {
            #expect(throws: TokenRefusal.self) { try keys.verify(token, now: now) }
            #expect(throws: TokenRefusal.self) {
                try keys.verifySignature(
                    "t=0,v1=\(String(repeating: "0", count: 64))", body: [], now: now)
            }
            // A box without a clock still gets tokens that it accepts itself.
            let minted = try keys.mint([.read], subject: nil, seconds: 3600, now: now)
            if now <= 0 { #expect(try keys.verify(minted, now: now).expiresAt == 3600) }
        }
    }

    @Test func `each signature of a push is accepted or refused as the table says`() throws {
        let rows = try Self.rows("signatures.tsv")
        #expect(rows.count >= 20)
        for row in rows {
            try #require(row.count == 4, "\(row[0])")
            do throws(TokenRefusal) {
                let time = try keys.verifySignature(row[2], body: Array(row[3].utf8), now: Self.now)
                #expect(row[1] == "ok" && row[2].hasPrefix("t=\(time),"), "\(row[0])")
            } catch {
                #expect(error.code == row[1], "\(row[0]): \(error)")
            }
        }
    }

    @Test func `a minted token is the one that another program makes`() throws {
        let token = try keys.mint([.calls, .read], subject: "kiosk", seconds: 3600, now: Self.now)
        #expect(Array((token + "\n").utf8) == (try Self.file("minted")))
        let accepted = try keys.verify(token, now: Self.now)
        #expect(accepted.scopes == [.read, .calls] && accepted.subject == "kiosk")
        #expect(accepted.expiresAt == Self.now + 3600 && accepted.refreshAt == Self.now + 2880)
        #expect(throws: TokenRefusal.expired(seconds: 60)) { try keys.verify(token, now: Self.now + 3660) }
    }

    @Test func `a signature that is made is accepted`() throws {
        let body = Array(#"{"number": "200"}"#.utf8)
        let header = try keys.signature(of: body, now: Self.now)
        #expect(try keys.verifySignature(header, body: body, now: Self.now + 60) == Self.now)
        #expect(throws: TokenRefusal.signatureTime(seconds: 61)) {
            try keys.verifySignature(header, body: body, now: Self.now + 61)
        }
        #expect(throws: TokenRefusal.signature) { try keys.verifySignature(header, body: [], now: Self.now) }
    }
}
