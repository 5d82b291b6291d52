import ArgumentParser
import BTCallBench
import CommandKit
import ControlLoop
import Foundation

/// `btcall-lab replay`: runs scenarios and incidents on a virtual clock; needs no daemon.
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run scenario files and incident files through the routing policy, without waiting.",
        discussion: """
            Prints one line per scenario, "ok ID" or "not ok ID step N: expected and actual value", then "N \
            passed, N failed". With --json: one object a line, {"id", "step", "t", "observed"} after every step, \
            {"id", "t", "kind", "text"} for every line of --trace, {"id", "title", "ok", "failures"} for every \
            scenario, and {"passed", "failed"} at the end.

            Exit codes: 0 all expectations hold, 1 one does not, 2 a file cannot be read or is invalid (standard \
            error names the error and its place, and nothing is run), 64 invalid command line.

            Example: btcall-lab replay --trace incident.json
            """)

    @Argument(
        help: ArgumentHelp("Files in the format btcall-scenario/1; - is standard input.", valueName: "file"),
        completion: .file())
    var files: [String]

    @Flag(help: "Print the observables at every step as JSON, one object a line.")
    var json = false

    @Flag(help: "Print events, decisions with their reason, effects and routes, with their time.")
    var trace = false

    @Option(help: ArgumentHelp("Run only scenarios with this tag, or with one of several.", valueName: "word"))
    var tag: [String] = []

    func run() throws {
        let code = replay(.terminal)
        if code != 0 { throw ExitCode(code) }
    }

    /// - Returns: the exit code.
    func replay(_ output: Output) -> Int32 {
        var options = Replay.Options()
        options.isJSON = json
        options.isTracing = trace
        options.tags = tag
        var replay = Replay(options)
        do throws(Replay.Refusal) {
            for file in files { try replay.add(Self.content(of: file), name: file == "-" ? "standard input" : file) }
            try replay.run(json ? output.printJSONDocument : output.printDocument)
        } catch {
            output.printError("\(error)")
            return 2
        }
        return replay.failed == 0 ? 0 : 1
    }

    /// An incident has a few hundred KB.
    private static let mostBytes = 64 << 20

    private static func content(of file: String) throws(Replay.Refusal) -> Data {
        if file == "-" {
            do {
                return try FileHandle.standardInput.readToEnd() ?? Data()
            } catch {
                throw Replay.Refusal("standard input: cannot be read: \(error.localizedDescription)")
            }
        }
        do throws(FileRefusal) {
            return Data(try ForeignFile.read(file, atMost: mostBytes, kinds: .any))
        } catch {
            throw Replay.Refusal("\(file): cannot be read: \(error.problem)")
        }
    }
}
