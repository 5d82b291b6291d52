import ArgumentParser
import BTCall
import BTCallBench
import ControlLoop
import Glibc

struct PlayCommand: BridgeCommand {
    /// Who is to hear the file.
    enum Hearer: String, ExpressibleByArgument, CaseIterable, Sendable {
        case call
    }

    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Play a WAV file to the far end of the calls, over the microphone.",
        discussion: """
            The file (16 bit, one or two channels, 8000, 16000, 24000, 32000, 44100 or 48000 frames per second) is added to \
            what the microphone says; `btcall volume application 0.5` makes it softer. Ctrl-C ends it. Exit code 0: it was \
            played to its end.
            """)

    @Argument(help: ArgumentHelp("The WAV file.", valueName: "file.wav"))
    var file: String

    @Option(help: "Who hears it: call, the far end of all active calls.")
    var to = Hearer.call

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let wave = try WaveFile(path: file)
        let events = await bridge.events()
        guard try await Self.hasActiveCall(bridge) else {
            throw CommandFailure("there is no active call that could hear it; see `btcall calls`")
        }
        let audio = try await bridge.audio.openInjection(rate: wave.rate)
        let playback = InjectionPlayback(wave.samples, audio)
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { playback.stop(.interrupted) }
        }
        let watch = Task { @ControlPlane in await Self.watch(events, playback, bridge, output) }
        defer {
            watch.cancel()
            for signal in signals { signal.cancel() }
        }
        let outcome = try await playback.run()
        let played = Double(playback.written) / Double(wave.rate)
        let seconds = played.tenths
        if options.json {
            output.print([
                "file": .string(file), "seconds": .number(played),
                "complete": JSON(outcome == .heard),
            ])
        }
        switch outcome {
        case .heard:
            if !options.json { output.print("played \(file), \(seconds) s") }
        case .interrupted: throw CommandFailure("stopped after \(seconds) s of \(file)")
        case .callOver: throw CommandFailure("the call was over after \(seconds) s of \(file)")
        case .closed:
            throw CommandFailure(
                "btcalld closed the audio after \(seconds) s of \(file): `journalctl -u btcalld` says why")
        case .daemonGone:
            output.printError("btcalld was gone after \(seconds) s of \(file): `systemctl status btcalld` says why")
            throw ExitCode(3)
        }
    }

    /// Ends the playback with the last call, and says why nothing is heard while that is held.
    @ControlPlane
    private static func watch(
        _ events: AsyncStream<BridgeEvent>, _ playback: InjectionPlayback, _ bridge: CallBridge, _ output: Output
    ) async {
        for await event in events {
            switch event {
            case .daemonVanished: return playback.stop(.daemonGone)
            case .callRemoved:
                // Without an answer the daemon is gone, which comes as an event of its own.
                if let calls = try? await bridge.calls.list(), calls.isEmpty { return playback.stop(.callOver) }
            case .callStateChanged(_, .held, _):
                guard let isHeard = try? await hasActiveCall(bridge), !isHeard else { continue }
                output.printError("the call is held: the rest is played when it is taken up again")
            default: break
            }
        }
    }

    @ControlPlane
    private static func hasActiveCall(_ bridge: CallBridge) async throws -> Bool {
        try await bridge.calls.list().contains { $0.state == .active }
    }
}
