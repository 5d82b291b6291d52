import ArgumentParser
import BTCall
import CallExchange
import CommandKit
import ControlLoop
import Glibc

struct TestCallCommand: BridgeCommand {
    enum Direction: String, EnumerableFlag, Sendable {
        case incoming, outgoing, dialled

        static func help(for value: Direction) -> ArgumentHelp? {
            switch value {
            case .incoming: "Somebody calls: the headsets ring."
            case .outgoing: "The call goes out, and the far end answers."
            case .dialled: "Waits until somebody dials, at a headset or by btcall dial; the far end answers."
            }
        }
    }

    static let configuration = CommandConfiguration(
        commandName: "test-call", abstract: "Make a call whose far end is this program, to try a headset.",
        discussion: """
            It acts as a telephony application: reports the call, accepts requests to answer and end it, and \
            exchanges its audio; tones sent in the call are shown. The far end plays a tone or a WAV file; \
            --record keeps the audio that it hears. Ctrl-C ends the call. Exit codes: 0 there was a call, and a \
            device carried its audio; 1 there was none, or nobody heard it.

            Examples:
              btcall test-call --incoming --record heard.wav
              btcall test-call --outgoing --far-end hello.wav --seconds 20
            """)

    @Flag(help: "Who calls.")
    var direction = Direction.incoming

    @Flag(help: "Make an announcement: audio without call state; virtualCall decides what headsets see.")
    var announcement = false

    @Option(help: "The other party's number.")
    var number = "5550100"

    @Option(help: "The other party's name.")
    var name: String?

    @Option(
        help: ArgumentHelp(
            "What the far end plays: tone:HZ, or a WAV file (16 bit, at a rate that --rate accepts).",
            valueName: "tone:hz|file.wav"),
        completion: .file(extensions: ["wav"]),
        transform: TestCallCommand.source)
    var farEnd = FarEnd.Source.tone(hertz: 440)

    @Flag(help: "Play the file again and again; otherwise silence follows.")
    var loop = false

    @Option(
        help: "Sample rate of a tone's call in Hz: 8000, 16000, 24000, 32000, 44100 or 48000. A file has its own.",
        transform: TestCallCommand.rate)
    var rate = 16000

    @Option(help: "Request the audio in this sample format: S16 or F32.", transform: TestCallCommand.format)
    var format = CallAudio.SampleFormat.s16

    @Option(help: "Request the audio in one or two channels.", transform: TestCallCommand.channels)
    var channels = 1

    @Option(
        help: ArgumentHelp("Write the call's audio to this WAV file.", valueName: "file.wav"),
        completion: .file(extensions: ["wav"]))
    var record: String?

    @Option(help: "End the call after this many seconds of talk.", transform: TestCallCommand.duration)
    var seconds: Duration?

    @Option(
        help: "Answer after this many seconds: the far end of an outgoing call (default 1), or this program.",
        transform: TestCallCommand.duration)
    var answerAfter: Duration?

    @OptionGroup var options: CommonOptions

    func perform(on bridge: CallBridge, _ output: Output) async throws {
        let report = TestCallReport(output, isJSON: options.json)
        let call = try TestCall(plan, try FarEnd(farEnd, rate: rate, loops: loop), report)
        let signal = try ControlLoop.shared.onSignal(SIGINT) { call.interrupt() }
        let termination = try ControlLoop.shared.onSignal(SIGTERM) { call.interrupt() }
        defer {
            signal.cancel()
            termination.cancel()
        }
        try await call.run(on: bridge)
        if !report.wasHeard { throw ExitCode(1) }
    }

    private var plan: TestCall.Plan {
        TestCall.Plan(
            direction: direction == .incoming && !announcement ? .incoming : .outgoing, number: number, name: name,
            isDialledHere: direction == .dialled && !announcement, hasCallState: !announcement,
            answerAfter: answerAfter, talk: seconds, recording: record, format: format, channels: channels)
    }

    private static func source(_ text: String) throws -> FarEnd.Source {
        guard let source = FarEnd.Source(text) else {
            throw ValidationError("accepted: tone:HZ with 20 to 20000, or the name of a WAV file")
        }
        return source
    }

    private static func rate(_ text: String) throws -> Int {
        guard let rate = Int(text), WaveFile.rates.contains(rate) else {
            throw ValidationError("accepted: \(WaveFile.rates.map(String.init).joined(separator: ", "))")
        }
        return rate
    }

    private static func format(_ text: String) throws -> CallAudio.SampleFormat {
        switch text {
        case "S16": return .s16
        case "F32": return .f32
        default: throw ValidationError("accepted: S16, F32")
        }
    }

    private static func channels(_ text: String) throws -> Int {
        guard let count = Int(text), (1...2).contains(count) else { throw ValidationError("accepted: 1, 2") }
        return count
    }

    private static func duration(_ text: String) throws -> Duration {
        guard let seconds = Double(text), (0...86400).contains(seconds) else {
            throw ValidationError("accepted: a number of seconds, 0 to 86400")
        }
        return .milliseconds(Int64(seconds * 1000))
    }
}
