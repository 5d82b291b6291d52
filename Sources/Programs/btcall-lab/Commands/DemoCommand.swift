import ArgumentParser
import BTCallBench
import CommandKit
import ControlLoop

/// `btcall-lab demo`: the four steps on this machine, without any hardware.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play a call that moves between simulated headsets and a handset, and measure what was lost.",
        discussion: """
            The daemon's real code runs on a private bus with a simulated BlueZ, two simulated headsets and simulated \
            cards. The report is computed from the recordings alone.

            Example: btcall-lab demo --fast
            """)

    @Option(help: "Where the recordings, timeline.svg and report.json go.", completion: .directory)
    var out = "demo-out"

    @Flag(help: "Shorter speech; still real time.")
    var fast = false

    func run() throws {
        let command = self
        let code = runOnControlLoop { await command.play() }
        if code != 0 { throw ExitCode(code) }
    }

    /// - Returns: the exit status: 1 when speech was lost or the demo could not be played.
    @ControlPlane
    private func play() async -> Int32 {
        let screen = DemoScreen()
        defer { screen.finish() }
        do {
            let demonstration = try Demonstration(schedule: fast ? .fast : .normal) { screen.show($0) }
            let result = try await demonstration.run()
            screen.finish()
            try result.write(to: out)
            print(result.summary(folder: out))
            return result.report.passed ? 0 : 1
        } catch {
            screen.finish()
            print("The demo did not come to its end: \(error)")
            return 1
        }
    }
}
