import ArgumentParser
import AudioDSP
import BTCallBench
import CommandKit
import Foundation
import JSONText

/// `btcall-lab bench`: measures the cost of parts of the daemon on this machine; needs no daemon.
struct BenchCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bench", abstract: "Measure the cost of parts of btcalld on this machine.",
        discussion: "Example: btcall-lab bench voice --rate 16000",
        subcommands: [
            BenchAudioCommand.self, BenchVoiceCommand.self, BenchMicCommand.self, BenchDetectionCommand.self,
        ])
}

struct BenchAudioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audio", abstract: "Measure each stage of the audio path, and the audio thread with all of them.",
        discussion: """
            Prints processor time for 10 ms of a call, and its ratio to libsbc encoding and decoding one \
            direction of it, which is the same on slow and fast machines. 10000 us would be a whole processor.

            --limits FILE compares the ratios with lines RATIO NAME, and requires every stage to allocate \
            nothing (counted with allocation-counter.so preloaded). Exit codes: 0 all limits hold, 1 one does \
            not, 2 the file cannot be read or is invalid.

            Example: btcall-lab bench audio --seconds 10
            """)

    @Option(help: ArgumentHelp("Compare the stages with the limits in a file.", valueName: "file"), completion: .file())
    var limits: String?

    @Option(help: ArgumentHelp("Run the audio thread for this many seconds, 1 to 600.", valueName: "seconds"))
    var seconds = 6

    @Flag(help: "Print JSON for programs.")
    var json = false

    func validate() throws {
        guard (1...600).contains(seconds) else { throw ValidationError("--seconds accepts 1 to 600") }
    }

    func run() throws {
        let code = measure(.terminal)
        if code != 0 { throw ExitCode(code) }
    }

    private func measure(_ output: Output) -> Int32 {
        var limits: CostLimits?
        if let path = self.limits {
            do {
                limits = try CostLimits(String(contentsOfFile: path, encoding: .utf8))
            } catch let malformed as CostLimits.Malformed {
                output.printError("\(path): \(malformed)")
                return 2
            } catch {
                output.printError("\(path): cannot be read: \(error.localizedDescription)")
                return 2
            }
        }
        var stages = AudioStages.measure()
        do {
            var course = try EngineCourse(seconds: seconds)
            stages.append(course.run())
            course.end()
            course = try EngineCourse(seconds: seconds, voice: .preferred)
            stages.append(course.run())
            course.end()
        } catch {
            output.printError("the audio thread cannot be measured: \(error)")
            return 1
        }
        let reference = stages.first { $0.name == AudioStages.reference }?.microseconds ?? .nan
        if json {
            output.print(Self.document(stages, reference))
        } else {
            Self.lines(stages, reference).forEach(output.print)
        }
        let violations = limits?.violations(stages) ?? []
        violations.forEach(output.printError)
        return violations.isEmpty ? 0 : 1
    }

    static func lines(_ stages: [StageCost], _ reference: Double) -> [String] {
        var table = Table("Stage", "us for 10 ms", "Ratio", "Allocations")
        for stage in stages {
            table.add(
                stage.name, CostLimits.hundredths(stage.microseconds),
                CostLimits.hundredths(stage.microseconds / reference), stage.allocations.map(String.init) ?? "-")
        }
        return table.lines
    }

    private static func document(_ stages: [StageCost], _ reference: Double) -> JSON {
        [
            "reference": .string(AudioStages.reference),
            "stages": .array(
                stages.map { stage in
                    [
                        "name": .string(stage.name), "microseconds": .number(stage.microseconds),
                        "ratio": .number(stage.microseconds / reference), "allocations": JSON(stage.allocations),
                    ]
                }),
        ]
    }
}
