import ArgumentParser
import BTCall
import CallExchange
import CommandKit
import ControlLoop
import Glibc
import JSONText

struct PlayCommand: BridgeCommand {
    /// The listeners of the file.
    enum Hearer: String, ExpressibleByArgument, CaseIterable, Sendable {
        case call, ring, page

        var hearer: BridgeAudio.Hearer {
            switch self {
            case .call: .call
            case .ring: .ring
            case .page: .page
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "play", abstract: "Play a WAV file to the far end of the calls, or to the people here.",
        discussion: """
            The file has 16 bit, one or two channels, and a rate of 8000, 16000, 24000, 32000, 44100 or 48000 \
            Hz. With call it is added to the microphone; `btcall volume application 0.5` makes it quieter. A \
            page is heard on top of the call, whose far end is lowered meanwhile, or on the page device without \
            a call. Ctrl-C ends it. Exit code 0: it was played to its end.

            Example: btcall play door.wav --to page
            """)

    @Argument(help: ArgumentHelp("The WAV file.", valueName: "file.wav"), completion: .file(extensions: ["wav"]))
    var file: String

    @Option(
        help: "Who hears it: call, the far end of all active calls; ring, by the ringer; page, the person here."
    )
    var to = Hearer.call

    @Option(help: "0 to 10: a higher priority silences lower ones; the ring tone has 5. Not with call.")
    var priority = 5

    @Option(help: "Attenuation of the calls' far end by a page, in dB: -90 to 0. Default: -12.")
    var duck: Double?

    @Flag(help: "Silence others of the same priority. Not with call.")
    var alone = false

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let wave = try WaveFile(path: file)
        let events = await bridge.events()
        let isToCall = to == .call
        let audio: AudioInjection
        if isToCall {
            guard try await Self.hasActiveCall(bridge) else {
                throw CommandFailure("there is no active call to play to; see `btcall calls`")
            }
            audio = try await bridge.audio.openInjection(rate: wave.rate)
        } else {
            audio = try await bridge.audio.play(
                to: to.hearer, rate: wave.rate, priority: priority, duckDecibels: duck, isMixable: !alone)
        }
        let playback = InjectionPlayback(wave.samples, audio)
        let signals = try [SIGINT, SIGTERM].map { signal in
            try ControlLoop.shared.onSignal(signal) { playback.stop(.interrupted) }
        }
        let watch = Task { @ControlPlane in
            await Self.watch(events, playback, isToCall ? bridge : nil, output)
        }
        defer {
            watch.cancel()
            for signal in signals { signal.cancel() }
        }
        let outcome = try await playback.run()
        let played = Double(playback.written) / Double(wave.rate)
        let seconds = played.tenths
        if options.json {
            output.print([
                "file": .string(file), "playedMilliseconds": JSON(Int(played * 1000)),
                "complete": JSON(outcome == .heard),
            ])
        }
        switch outcome {
        case .heard:
            if !options.json { output.print("played \(file), \(seconds) s") }
        case .interrupted: throw CommandFailure("stopped after \(seconds) s of \(file)")
        case .callOver: throw CommandFailure("the call ended after \(seconds) s of \(file)")
        case .closed:
            throw CommandFailure(
                "btcalld closed the audio after \(seconds) s of \(file): `journalctl -u btcalld` says why")
        case .daemonGone:
            throw BridgeError(
                .notRunning, "btcalld ended after \(seconds) s of \(file): `systemctl status btcalld` says why")
        }
    }

    /// Stops the playback when the daemon goes; with a bridge, also when the last call ends. Reports when the call is held,
    /// so that nothing is heard.
    @ControlPlane
    private static func watch(
        _ events: AsyncStream<BridgeEvent>, _ playback: InjectionPlayback, _ bridge: CallBridge?, _ output: Output
    ) async {
        for await event in events {
            if event == .daemonVanished { return playback.stop(.daemonGone) }
            guard let bridge else { continue }
            switch event {
            case .callRemoved:
                // A daemon that does not answer has gone, which is an event of its own.
                if let calls = try? await bridge.calls.list(), calls.isEmpty { return playback.stop(.callOver) }
            case .callStateChanged(_, .held, _):
                guard let isHeard = try? await hasActiveCall(bridge), !isHeard else { continue }
                output.printError("the call is held: playback continues when it is resumed")
            default: break
            }
        }
    }

    @ControlPlane
    private static func hasActiveCall(_ bridge: CallBridge) async throws -> Bool {
        try await bridge.calls.list().contains { $0.state == .active }
    }
}
