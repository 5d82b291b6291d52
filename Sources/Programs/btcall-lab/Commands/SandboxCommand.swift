import ArgumentParser
import CommandKit
import ControlLoop

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

            Examples:
              btcall-lab sandbox
              btcall-lab sandbox --color never > story.txt
            """)

    @Option(help: "Colours: auto (on a terminal, unless NO_COLOR is set), always or never.")
    var color = TerminalStyle.ColorChoice.auto

    func run() throws {
        let output = Output.terminal(color)
        let code = runOnControlLoop {
            await exitStatus(output) { try await SandboxRun(output: output, style: output.style).run() }
        }
        if code != 0 { throw ExitCode(code) }
    }
}
