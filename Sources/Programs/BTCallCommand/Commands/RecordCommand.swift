import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc
import JSONText

struct RecordCommand: BridgeCommand {
    static let configuration = CommandConfiguration(
        commandName: "record", abstract: "Record a call to a WAV file, or allow or deny recordings.",
        discussion: """
            The file (16 bit, 16000 Hz) is complete at any moment: it ends with the call, after --seconds, or \
            with Ctrl-C. Nothing is recorded while the call is held. `btcall config privacy.recording` says \
            whether calls may be recorded; with `ask` somebody must run `btcall record --allow` (or --deny) \
            within 30 s.

            Example: btcall record call.wav --side stereo --seconds 60
            """)

    enum Side: String, ExpressibleByArgument, CaseIterable, Sendable {
        case both, local, remote, stereo

        var tap: BridgeAudio.TapSide {
            switch self {
            case .both: .both
            case .local: .local
            case .remote: .remote
            case .stereo: .stereo
            }
        }
    }

    @Argument(
        help: ArgumentHelp("The WAV file; it is replaced.", valueName: "file.wav"),
        completion: .file(extensions: ["wav"]))
    var file: String?

    @Option(help: CallArgument.help, completion: CallArgument.completion)
    var call: String?

    @Option(help: "Side to record: both (mixed), local, remote, or stereo (the near end left, the far end right).")
    var side = Side.both

    @Option(help: "Length; by default to the end of the call.")
    var seconds: Int?

    @Flag(help: "Allow the programs that ask to record the call.")
    var allow = false

    @Flag(help: "Deny them.")
    var deny = false

    @OptionGroup var options: CommonOptions

    func validate() throws {
        if allow && deny { throw ValidationError("--allow and --deny exclude each other.") }
        if (allow || deny) != (file == nil) { throw ValidationError("Give a FILE, --allow or --deny.") }
        if let seconds, !(1...86_400).contains(seconds) {
            throw ValidationError("--seconds accepts a whole number from 1 to 86400.")
        }
    }

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let chosen = try CallArgument.choose(
            call, among: try await bridge.calls.list(), in: [[.active], [.held], [.dialing, .alerting]],
            absent: "there is no call to record; see `btcall calls`")
        guard let file else {
            try await bridge.audio.allowRecording(of: chosen.id, allow)
            let text = allow ? "may be recorded" : "may not be recorded"
            if options.json {
                output.print(["call": .string(chosen.id.description), "allowed": JSON(allow)])
            } else {
                output.print("call \(chosen.index) (\(chosen.party)) \(text)")
            }
            return
        }
        let audio = try await bridge.audio.openTap(call: chosen.id, side: side.tap)
        let rate = audio.rate
        let recording = try TapRecording(audio, to: file, limit: seconds.map { $0 * rate })
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { recording.stop(.interrupted) }
        }
        defer { for signal in signals { signal.cancel() } }
        let outcome = try await recording.run()
        let length = Double(recording.frames) / Double(rate)
        if options.json {
            output.print([
                "file": .string(file), "recordedMilliseconds": JSON(Int(length * 1000)),
                "call": .string(chosen.id.description),
                "complete": JSON(outcome == .complete || seconds == nil),
            ])
        } else {
            output.print("recorded \(length.tenths) s in \(file)")
        }
        guard outcome == .closed else { return }
        // An error means that btcalld has gone; the file is complete anyway.
        let isUp = try await bridge.calls.list().contains { $0.id == chosen.id }
        if isUp { throw CommandFailure("btcalld ended the recording before the call: its log says why") }
    }
}
