import ArgumentParser
import CommandKit
import ControlLoop
import Cryptography
import Glibc
import JSONText
import WebTokens

struct WebTokenCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Print a token for a client of btcall-web.",
        discussion: """
            The scopes are \(WebScope.accepted); admin includes the others. The token is signed with the secret \
            that btcall-web reads, so only who may read that file can make one. Nothing can take a token back \
            before its end but a new secret, which ends all of them.

            Examples:
              btcall web token --scope read,calls --for 1h
              btcall web token --scope provider --for 30d --subject kiosk
            """)

    /// The file that btcall-web reads by default.
    static let secret = "/etc/btcall/web.secret"
    /// More is no secret but another file.
    private static let mostBytes = 64 << 10

    @Option(
        help: ArgumentHelp(
            "What the client may do, separated by commas: \(WebScope.accepted). Default: read.", valueName: "scopes"),
        completion: .list(WebScope.allCases.map(\.rawValue)), transform: WebTokenCommand.scopes)
    var scope: Set<WebScope>?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long it is valid: 90s, 15m, 1h, 30d. Default: 1h.", valueName: "duration"),
        transform: WebTokenCommand.seconds)
    var life: Int64?

    @Option(help: ArgumentHelp("The client's name for btcall-web's log.", valueName: "name"))
    var subject: String?

    @Option(help: ArgumentHelp("The service that accepts it: [tokens] audience of btcall-web.", valueName: "name"))
    var audience = "btcall"

    @Option(help: ArgumentHelp("The file with the secret.", valueName: "file"), completion: .file())
    var secret = WebTokenCommand.secret

    @OptionGroup var options: CommonOptions

    func run() throws {
        let command = self
        var terminal = Output.terminal(options.color)
        terminal.reportsJSON = options.json
        let output = terminal
        let code = runOnControlLoop { await exitStatus(output) { try command.perform(output, now: .now) } }
        if code != 0 { throw ExitCode(code) }
    }

    func perform(_ output: Output, now: WallClock) throws {
        let contents: [UInt8]
        do throws(FileRefusal) {
            contents = try ForeignFile.read(secret, atMost: Self.mostBytes, secrecy: .secret)
        } catch {
            throw CommandFailure("\(error)\(Self.remedy(for: error))")
        }
        let sodium = try Sodium()
        let keys: TokenKeys
        do throws(TokenKeyError) {
            keys = try TokenKeys(
                secret: contents, publicKeys: [:], pushSecret: nil, audience: audience, cryptography: sodium)
        } catch {
            throw CommandFailure("\(secret): \(error)")
        }
        let (begin, life, scopes) = (now.milliseconds / 1000, self.life ?? 3600, scope ?? [.read])
        let token = try keys.mint(scopes, subject: subject, seconds: life, now: begin)
        guard options.json else { return output.print(token) }
        let end = WallClock(milliseconds: (begin + life) * 1000).iso8601
        output.print(keys.json(token, scopes, subject: subject, end: end))
    }

    private static func remedy(for refusal: FileRefusal) -> String {
        guard case .failed(let error) = refusal.reason, error.code == ENOENT else { return "" }
        let path = refusal.path
        return "; make it for group btcall, and restart btcall-web: "
            + "(umask 027; head -c 32 /dev/urandom | base64 >\(path); chgrp btcall \(path))"
    }

    // MARK: Arguments

    private static func scopes(_ text: String) throws -> Set<WebScope> {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        return Set(
            try words.map { word in
                guard let scope = WebScope(rawValue: String(word)) else {
                    throw ValidationError("'\(word)' is no scope, accepted: \(WebScope.accepted)")
                }
                return scope
            })
    }

    static func seconds(_ text: String) throws -> Int64 {
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        let (digits, unit) = text.last.flatMap { units[$0] }.map { (text.dropLast(), $0) } ?? (text[...], 1)
        if digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int64(digits) {
            let (seconds, overflows) = number.multipliedReportingOverflow(by: unit)
            if !overflows, (1...TokenKeys.longestLife).contains(seconds) { return seconds }
        }
        throw ValidationError("accepted: 1s to \(TokenKeys.longestLife / 86_400)d, in s, m, h or d")
    }
}
