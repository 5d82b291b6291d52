import ArgumentParser
import BTCallBench
import CommandKit
import ControlLoop
import Foundation

/// `btcall-lab demo`: the four steps on this machine, without any hardware.
struct DemoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play a call that moves between simulated headsets and a handset, and measure its losses.",
        discussion: """
            The daemon's real code runs on a private bus with a simulated BlueZ, two simulated headsets and simulated \
            cards. The report is computed from the recordings alone.

            Exit codes: 0 all losses were within the limits, 1 speech was lost, 75 the machine itself was too \
            busy to measure, 130 it was interrupted.

            Example: btcall-lab demo --fast
            """)

    @Option(help: "Directory for the recordings, timeline.svg and report.json.", completion: .directory)
    var out = "demo-out"

    @Flag(help: "Shorter speech; still real time.")
    var fast = false

    func run() throws {
        let command = self
        let code = runOnControlLoop { await command.play() }
        if code != 0 { throw ExitCode(code) }
    }

    /// The demonstration, which a signal interrupts.
    @ControlPlane private final class Running {
        var demonstration: Demonstration?
        /// The signal that interrupted it.
        var signal: Int32?

        func cutOff(_ signal: Int32) {
            self.signal = signal
            demonstration?.cutOff()
        }
    }

    /// - Returns: the exit status.
    @ControlPlane
    private func play() async -> Int32 {
        let screen = DemoScreen()
        let running = Running()
        do {
            let signals = try [SIGINT, SIGTERM].map { signal in
                try ControlLoop.shared.onSignal(signal) { running.cutOff(signal) }
            }
            defer { for signal in signals { signal.cancel() } }
            try FileManager.default.createDirectory(atPath: out, withIntermediateDirectories: true)
            let log = try DemoLog(path: out + "/btcalld.log")
            defer { log.end() }
            let demonstration = try Demonstration(schedule: fast ? .fast : .normal, logger: log.logger) {
                screen.show($0)
            }
            running.demonstration = demonstration
            if running.signal != nil { demonstration.cutOff() }
            let result = try await demonstration.run()
            screen.finish()
            try result.write(to: out)
            print(result.summary(folder: out))
            return Self.exitStatus(result.report.verdict)
        } catch is Demonstration.CutOff {
            screen.finish()
            print("Interrupted: nothing was measured. \(out)/btcalld.log has the daemon's log until then.")
            return 128 + (running.signal ?? SIGINT)
        } catch {
            screen.finish()
            print("The demo failed: \(error)")
            return 1
        }
    }

    private static func exitStatus(_ verdict: DemoReport.Verdict) -> Int32 {
        switch verdict {
        case .passed: 0
        case .lost: 1
        case .tooBusy: EX_TEMPFAIL
        }
    }
}
