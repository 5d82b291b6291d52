import ArgumentParser
import BTCall
import CommandKit
import ControlLoop
import Glibc

/// A program that runs while something is held: `-- COMMAND…` on a command line.
enum HeldCommand {
    static let help = "A program to run meanwhile, after --; its exit code becomes btcall's."

    /// Runs the program, then releases the hold.
    ///
    /// An interrupt from the terminal goes to the program; SIGTERM and SIGHUP are passed on to it. The hold therefore ends
    /// with the program, and with btcall at the latest.
    /// - Throws: `ExitCode` with the program's status, unless it is 0; 127 when it could not be started.
    @ControlPlane
    static func run(_ words: [String], holding hold: Hold, _ output: Output) async throws {
        let status: Int32
        do throws(SystemError) {
            status = try await ControlLoop.shared.run(
                words, forwarding: [SIGTERM, SIGHUP], ignoring: [SIGINT, SIGQUIT])
        } catch {
            hold.release()
            output.printError("\(words.first ?? "COMMAND") cannot be run: \(error)")
            throw ExitCode(127)
        }
        hold.release()
        if status != 0 { throw ExitCode(status) }
    }
}
