import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc

struct ProviderCommand: BridgeCommand {
    typealias Capability = CallProviderDescription.Capability

    static let configuration = CommandConfiguration(
        commandName: "provider", abstract: "Act as a telephony application for a script: JSON lines in and out.",
        discussion: """
            Standard input, a line each: {"report":"incoming","number":"…","name":"…"}, {"report":"outgoing","number":"…"}, \
            {"update":"alerting|active|held|ended","call":"…","reason":"…"}, and replies to requests: {"id":1,"ok":true} or \
            {"id":1,"error":"why not"}. `call` may be left out while there is one call.

            Standard output: {"event":"registered",…}, {"event":"reported","call":…,"number":…}, requests \
            {"event":"answer","id":1,"call":…} and start, end, hold, resume, dtmf, mute, unmute, swap, \
            conference, talk, listen, which need a reply within 5 s, {"event":"state","call":…,"state":…,"reason":…}, and \
            {"event":"error","line":…,"error":…} for an invalid or refused line. The page "Telephony in a \
            script" describes all of it.

            The end of the input ends the calls. The exit code is 0 then, and 1 when btcalld has ended.

            Example: btcall provider --name Door --capabilities hold,dtmf
            """)

    @Option(
        help: "The script's capabilities, separated by commas: \(ProviderCommand.accepted); or none.",
        transform: ProviderCommand.capabilities)
    var capabilities: Set<Capability> = [.hold, .dtmf, .dial]

    @Option(help: "The application's name for people.")
    var name = "script"

    @Option(
        help: "Schemes of the addresses that it dials, separated by commas: sip,tel; plain numbers are tel.",
        transform: { $0.split(separator: ",").map(String.init) })
    var schemes: [String] = []

    @OptionGroup var raw: RawAudioArguments

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let provider = LineProvider(output)
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { provider.interrupt() }
        }
        defer { for signal in signals { signal.cancel() } }
        var description = CallProviderDescription(name: name, rate: raw.rate, capabilities: capabilities)
        description.schemes = schemes
        try await provider.run(description, try raw.audio(), input: STDIN_FILENO, on: bridge)
    }

    /// Capabilities that have a protocol line.
    private static let known: [Capability] = [.hold, .dtmf, .dial, .mute, .swap, .conference, .talk]
    private static var accepted: String { known.map(\.rawValue).joined(separator: ",") }

    private static func capabilities(_ text: String) throws -> Set<Capability> {
        if text == "none" { return [] }
        let words = text.split(separator: ",").map(String.init)
        let found = words.compactMap { word in known.first { $0.rawValue == word } }
        guard found.count == words.count, !found.isEmpty else {
            throw ValidationError("accepted: \(accepted), or none")
        }
        return Set(found)
    }
}
