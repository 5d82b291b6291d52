import ArgumentParser
import BTCallBench
import BTCallDaemon
import CommandKit
import Configuration
import ControlLoop
import JSONText
import Routing

struct BenchMicCommand: ParsableCommand, Sendable {
    static let configuration = CommandConfiguration(
        commandName: "mic", abstract: "Measure the time from unmuting until the far end hears the microphone.",
        discussion: """
            Time from unmuting until the first samples of a sound card's microphone go to a call: prepared (the \
            stream already runs, as with audio.alwaysPrepared) and cold (it is opened first, as with the mute \
            mode restart). Without --device it uses the configured microphone of the speakerphone, else of the \
            earpiece.

            Exit codes: 0 prepared takes at most 20 ms in each run, 1 it takes longer or nothing could be \
            measured, 2 the configuration is invalid.

            Example: btcall-lab bench mic --runs 20
            """)

    @Option(help: ArgumentHelp("The ALSA device, as in `arecord -D`.", valueName: "device"))
    var device: String?

    @Option(help: ArgumentHelp("The configuration of btcalld.", valueName: "file"), completion: .file())
    var config = "/etc/btcall/btcalld.conf"

    @Option(help: "Runs of each kind, 1 to 1000.")
    var runs = 10

    @Flag(help: "Print JSON for programs.")
    var json = false

    func validate() throws {
        guard (1...1000).contains(runs) else { throw ValidationError("--runs accepts 1 to 1000") }
    }

    mutating func run() throws {
        let command = self
        let code = runOnControlLoop { await command.measure(.terminal) }
        if code != 0 { throw ExitCode(code) }
    }

    @ControlPlane
    private func measure(_ output: Output) async -> Int32 {
        var configuration = Configuration()
        if let device {
            configuration.localDevices = [.speakerphone: .init(capture: device)]
        } else {
            do throws(ConfigurationError) {
                configuration = try Configuration(file: config)
            } catch {
                output.printError("\(error)")
                return 2
            }
        }
        let devices = configuration.localDevices
        let kind = [LocalDevice.speakerphone, .earpiece].first { devices[$0]?.capture != nil }
        guard let kind else {
            output.printError("\(config) names no microphone: give one with --device (`arecord -l`)")
            return 1
        }
        let result: MicrophoneBench.Result
        do throws(MicrophoneBench.Failure) {
            result = try MicrophoneBench(kind, of: configuration).run(runs)
        } catch {
            output.printError("\(error)")
            return 1
        }
        show(result, output)
        guard let longest = result.prepared.last, longest <= MicrophoneBench.limit else {
            output.printError("prepared: longer than \(Int(MicrophoneBench.limit)) ms")
            return 1
        }
        return 0
    }

    private func show(_ result: MicrophoneBench.Result, _ output: Output) {
        let ways = [("prepared", result.prepared), ("cold", result.cold)]
        if json {
            func figures(_ times: [Double]) -> JSON {
                ["medianMs": .number(times[times.count / 2]), "longestMs": .number(times.last ?? .nan)]
            }
            output.print([
                "device": .string(result.summary), "realtime": JSON(result.isRealtime), "runs": .integer(Int64(runs)),
                "prepared": figures(result.prepared), "cold": figures(result.cold),
            ])
            return
        }
        output.print(
            "\(result.summary), \(result.isRealtime ? "with" : "without") real-time priority, \(runs) runs each")
        var table = Table("From unmuting to the first sample", "Median ms", "Longest ms")
        for (way, times) in ways {
            table.add(way, times[times.count / 2].tenths, (times.last ?? .nan).tenths)
        }
        table.lines.forEach(output.print)
    }
}
