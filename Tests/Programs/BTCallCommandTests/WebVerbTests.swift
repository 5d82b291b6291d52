import CommandKit
import CommandTestSupport
import ControlLoop
import Cryptography
import Foundation
import Testing
import WebTokens

@testable import BTCallCommand

@Suite struct WebVerbTests {
    private static let secret = "0123456789abcdef0123456789abcdef\n"
    private static let now = WallClock(milliseconds: 1_800_000_000_999)

    /// A directory of its own that nobody else may write to, with a secret file.
    private final class Folder {
        let path: String
        var secret: String { path + "/secret" }

        init(_ text: String = WebVerbTests.secret, mode: Int = 0o600) throws {
            path = FileManager.default.temporaryDirectory.appending(path: "btcall-web-\(UUID().uuidString)").path()
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            try #require(
                FileManager.default.createFile(
                    atPath: secret, contents: Data(text.utf8), attributes: [.posixPermissions: mode]))
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }  // It may stay in the temporary directory.
    }

    private func output(_ words: String...) throws -> String {
        let capture = Capture()
        let command = try #require(try Entry.command(for: ["web", "token"] + words) as? WebTokenCommand)
        try command.perform(capture.sink, now: Self.now)
        #expect(capture.errors.isEmpty)
        return capture.output
    }

    private func verify(_ token: String, audience: String = "btcall") throws -> WebToken {
        let keys = try TokenKeys(
            secret: Array(Self.secret.utf8), publicKeys: [:], pushSecret: nil, audience: audience,
            cryptography: try Sodium())
        return try keys.verify(token, now: 1_800_000_000)
    }

    @Test func `a token has the scopes, the life and the name that were asked for`() throws {
        let folder = try Folder()
        let plain = try verify(output("--secret", folder.secret).trimmingCharacters(in: .newlines))
        #expect(plain.scopes == [.read] && plain.subject == nil)
        #expect(plain.issuedAt == 1_800_000_000 && plain.expiresAt == 1_800_003_600)
        let line = try output(
            "--secret", folder.secret, "--scope", "calls,provider", "--for", "30d", "--subject", "kiosk", "--audience",
            "door")
        #expect(line.hasSuffix("\n") && line.count { $0 == "\n" } == 1)
        let token = try verify(line.trimmingCharacters(in: .newlines), audience: "door")
        #expect(token.scopes == [.calls, .provider] && token.subject == "kiosk")
        #expect(token.expiresAt == 1_800_000_000 + 30 * 86_400)
    }

    @Test func `with --json a token is an object of the page`() throws {
        let folder = try Folder()
        let run = CommandRun(
            status: 0, output: try output("--secret", folder.secret, "--scope", "admin,read", "--json"), errors: "")
        let mistakes = try JSONPage().mistakes(in: run.json ?? "no JSON", "Token", at: "web token")
        #expect(mistakes.isEmpty, "\(mistakes)")
        #expect(run.object["scopes"] as? [String] == ["read", "admin"])
        #expect(run.object["expiresAt"] as? String == "2027-01-15T09:00:00.000Z")
        #expect(try verify(#require(run.object["token"] as? String)).allows(.pair))
    }

    @Test(arguments: [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("366d", 31_622_400)])
    func `a duration has a unit`(_ text: String, _ seconds: Int64) throws {
        #expect(try WebTokenCommand.seconds(text) == seconds)
    }

    private func failure(_ path: String) throws -> String {
        let error = #expect(throws: CommandFailure.self) { try output("--secret", path) }
        return try #require(error).description
    }

    @Test func `a secret file that is missing, short, open to everybody or no file is refused with what to do`() throws
    {
        let folder = try Folder()
        let missing = folder.path + "/none"
        #expect(
            try failure(missing)
                == "\(missing): open: No such file or directory (ENOENT); accepted: a regular file; make it for group btcall, and restart btcall-web: (umask 027; head -c 32 /dev/urandom | base64 >\(missing); chgrp btcall \(missing))"
        )
        let short = try Folder("short\n")
        #expect(try failure(short.secret).hasPrefix("\(short.secret): the secret for tokens has 5 bytes, accepted: "))
        let open = try Folder(mode: 0o644)
        #expect(try failure(open.secret).contains("(chmod o= FILE)"))
        #expect(try failure(folder.path).contains("is a directory"))
    }
}
