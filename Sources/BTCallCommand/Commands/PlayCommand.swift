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
        try await Self.requireCall(bridge)
        let audio = try await bridge.audio.openInjection(rate: wave.rate)
        let playback = InjectionPlayback(wave.samples, audio)
        let signal = try ControlLoop.shared.onSignal(SIGINT) { playback.stop() }
        let termination = try ControlLoop.shared.onSignal(SIGTERM) { playback.stop() }
        defer {
            signal.cancel()
            termination.cancel()
        }
        let watch = Task { @ControlPlane in
            for await event in events {
                if case .daemonVanished = event { return playback.stop() }
                guard case .callRemoved = event else { continue }
                if (try? await Self.requireCall(bridge)) == nil { return playback.stop() }
            }
        }
        let frames = try await playback.run()
        watch.cancel()
        let isWhole = frames == wave.samples.count
        let seconds = Double(frames) / Double(wave.rate)
        if options.json {
            output.print([
                "file": .string(file), "seconds": .number(seconds), "complete": JSON(isWhole),
            ])
        } else if isWhole {
            output.print("played \(file), \(Self.tenths(seconds)) s")
        }
        guard !isWhole else { return }
        output.printError("\(file) was stopped after \(Self.tenths(seconds)) s: the call ended, or somebody wanted it")
        throw ExitCode(1)
    }

    @ControlPlane
    private static func requireCall(_ bridge: CallBridge) async throws {
        guard try await bridge.calls.list().contains(where: { $0.state == .active }) else {
            throw CommandFailure("there is no active call that could hear it; see `btcall calls`")
        }
    }

    private static func tenths(_ seconds: Double) -> String {
        let tenths = Int((seconds * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
