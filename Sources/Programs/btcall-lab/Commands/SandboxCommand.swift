import ArgumentParser
import BTCall
import BTCallBench
import CommandKit
import ControlLoop
import Foundation

/// `btcall-lab sandbox`: a box without hardware, to try btcall and to develop applications against it.
struct SandboxCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Try btcall without hardware, or develop an application against it.",
        discussion: """
            The daemon's real code runs on a private bus with a simulated BlueZ, two headsets, an earpiece, a \
            loudspeaker, and an application whose far end speaks. A screen shows what each device hears, the \
            route and its reason, and the events; keys switch headsets on and off, cut their radio, press their \
            buttons, and begin, answer and end calls. The screen lists the keys.

            The first lines show the bus, for another terminal: `btcall status --bus ADDRESS`, `btcall why`, \
            `busctl --address=ADDRESS`, or your own application. BTCALL_BUS saves typing it.

            Without a terminal there is no screen: the address and the events are printed as lines, and the same \
            keys are read from the standard input until it ends; a point waits one second. Warnings of the \
            daemon go to standard error: `2>daemon.log` keeps them.

            Programs on the ALSA PCM btcall find this daemon with --pcm PATH and the same path in the environment, \
            as BTCALL_PCM_SOCKET. --record writes at the end what each device has played since the start. --talk \
            makes it push to talk: keys press the talk keys of both headsets and of two buttons, and press again to \
            release.

            Examples:
              btcall-lab sandbox
              btcall-lab sandbox --pcm /tmp/pcm.sock --record recordings --tone 600
              btcall-lab sandbox --talk push
              btcall-lab sandbox --color never > story.txt
            """)

    @Option(help: "Colours: auto (on a terminal, unless NO_COLOR is set), always or never.")
    var color = TerminalStyle.ColorChoice.auto

    @Option(
        help: ArgumentHelp("Serve programs on the ALSA PCM btcall at this socket.", valueName: "path"),
        completion: .file())
    var pcm: String?

    @Option(
        help: ArgumentHelp("Write each device's playback to a WAV file in this directory.", valueName: "folder"),
        completion: .directory)
    var record: String?

    @Option(
        help: ArgumentHelp(
            "The people at the devices hum a tone of so many Hz, 100 to 3400, and do not speak.", valueName: "hz"))
    var tone: Int?

    @Option(
        help: ArgumentHelp(
            "Push to talk, with keys on headsets and buttons: push, toggle or latch.", valueName: "mode"),
        transform: { word in
            guard let mode = TalkMode(rawValue: word), mode != .off else {
                throw ValidationError("--talk accepts push, toggle or latch")
            }
            return mode
        })
    var talk: TalkMode?

    func validate() throws {
        if let pcm {
            guard pcm.hasPrefix("/"), pcm.utf8.count <= 107 else {
                throw ValidationError("--pcm accepts an absolute path of at most 107 bytes")
            }
        }
        if let tone {
            guard SandboxOptions.tones.contains(tone) else { throw ValidationError("--tone accepts 100 to 3400") }
        }
    }

    func run() throws {
        let options = SandboxOptions(pcmSocket: pcm, recordings: record, tone: tone, talk: talk)
        let output = Output.terminal(color)
        let code = runOnControlLoop {
            await exitStatus(output) {
                if let folder = options.recordings {
                    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                }
                try await SandboxRun(options, output: output, style: output.style).run()
            }
        }
        if code != 0 { throw ExitCode(code) }
    }
}
