import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import JSONText

/// `btcall notify-incoming`: a call that wakes what sleeps.
struct NotifyIncomingCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notify-incoming", abstract: "Let headsets ring for a call that arrives elsewhere.",
        discussion: """
            It needs btcall-web, to which the call belongs afterwards: this command ends at once. Neither \
            btcall-web nor btcalld has to run: systemd starts the one, and the bus the other. Everything that \
            headsets ask counts as done. A web page that is registered with the name of --provider takes the call \
            over, and is asked instead. An unanswered call ends as missed after --seconds.

            A program that owns its call uses `btcall call report` or `btcall provider`.

            Examples:
              btcall notify-incoming 5550100 --name Door
              btcall notify-incoming 200 --provider kiosk --key "$EVENT" --seconds 30
            """)

    @OptionGroup var party: ReportedPartyArguments

    @Option(help: ArgumentHelp("The application that is asked.", valueName: "name"))
    var provider = "push"

    @Option(
        help: ArgumentHelp(
            "1 to 64 characters: the same key again is the same call, not a second one.", valueName: "key"))
    var key: String?

    @Option(help: ArgumentHelp("How long it rings: 5 to 300.", valueName: "seconds"))
    var seconds = 60

    @Option(help: ArgumentHelp("The Unix socket of btcall-web.", valueName: "path"), completion: .file())
    var socket = LocalWeb.socket

    @OptionGroup var options: CommonOptions

    func validate() throws {
        guard (5...300).contains(seconds) else { throw ValidationError("--seconds is 5 to 300") }
        guard key.map({ (1...64).contains($0.count) }) ?? true else {
            throw ValidationError("--key has 1 to 64 characters")
        }
        if provider.isEmpty { throw ValidationError("--provider is empty: leave it out, or name an application") }
    }

    func run() throws {
        let command = self
        var terminal = Output.terminal(options.color)
        terminal.reportsJSON = options.json
        let output = terminal
        let code = runOnControlLoop { await exitStatus(output) { try await command.perform(output) } }
        if code != 0 { throw ExitCode(code) }
    }

    @ControlPlane
    func perform(_ output: Output) async throws {
        let call = try await LocalWeb.post(LocalWeb.incomingCalls, body, to: socket)
        guard !options.json else { return output.print(call) }
        guard let id = call["call"]?.stringValue else { throw CommandFailure("btcall-web names no call") }
        output.print("call \(id)")
    }

    private var body: JSON {
        var members: [(String, JSON)] = [
            ("number", .string(party.number)), ("provider", .string(provider)), ("seconds", JSON(seconds)),
        ]
        if let name = party.name { members.append(("name", .string(name))) }
        if let key { members.append(("key", .string(key))) }
        if !party.routes.isEmpty { members.append(("routes", JSON(party.routes.map(\.rawValue)))) }
        return JSON(members)
    }
}
