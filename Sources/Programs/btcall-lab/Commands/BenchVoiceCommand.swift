import ArgumentParser
import AudioDSP
import BTCallBench
import BTCallTrials
import CommandKit
import JSONText

struct BenchVoiceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "voice", abstract: "Measure echo cancellation and automatic gain in synthetic rooms.",
        discussion: """
            For each choice and room: attenuation of the echo in dB 1, 3 and 10 s after the beginning; in double \
            talk, the share of the near end in the output (0 to 1), and the attenuation of the near end in dB; \
            seconds until the echo is down again after moving the microphone, and after a change of route. Then \
            the cost of 10 ms with every stage on, and the output level of speech at -35 dB. "-" means never.

            Exit codes: 0 webrtc removes 25 dB within 3 s in each room, recovers within 1 s after a change of \
            route and 3 s after a movement, and the gain is within 3 dB of -20 dB; 1 one of these does not hold; \
            2 a choice is not in this build.

            Example: btcall-lab bench voice --only webrtc
            """)

    @Option(help: "Rate of the bus: 8000, 16000, 32000 or 48000 Hz.")
    var rate = 16_000

    @Option(help: "Measure only webrtc, speex or none.")
    var only: String?

    @Flag(help: "Print JSON for programs.")
    var json = false

    func validate() throws {
        guard [8_000, 16_000, 32_000, 48_000].contains(rate) else {
            throw ValidationError("--rate accepts 8000, 16000, 32000 and 48000")
        }
        if let only, VoiceProcessingKind(rawValue: only) == nil {
            throw ValidationError("--only accepts webrtc, speex and none")
        }
    }

    func run() throws {
        let output = Output.terminal
        let kinds = only.flatMap(VoiceProcessingKind.init(rawValue:)).map { [$0] } ?? VoiceBench.kinds
        let bench = VoiceBench(rate: rate)
        let rows: [VoiceBench.Row]
        let costs: [VoiceBench.Cost]
        do {
            rows = try bench.rows(kinds)
            costs = try VoiceBench.costs(kinds)
        } catch {
            output.printError("\(error)")
            throw ExitCode(2)
        }
        if json {
            output.print(Self.document(bench, rows, costs))
        } else {
            output.print("Far and near end: \(bench.source), \(rate) Hz")
            if let library = VoiceProcessingKind.webRTCLibrary { output.print("webrtc: \(library)") }
            Self.lines(rows).forEach(output.print)
            Self.lines(costs).forEach(output.print)
        }
        let promised = VoiceProcessingKind.webrtc
        let violations =
            rows.filter { $0.kind == promised }.flatMap(\.violations) + costs.flatMap(\.violations)
        violations.forEach(output.printError)
        if !violations.isEmpty { throw ExitCode(1) }
    }

    private static func lines(_ rows: [VoiceBench.Row]) -> [String] {
        var table = Table("Choice", "Room", "1 s", "3 s", "10 s", "Near end", "Its loss", "Moved", "Routed")
        for row in rows {
            let still = row.figures[.still]
            let losses = VoiceTrial.times.map { tenths(still?.lossAfter[$0]) }
            table.add(
                row.kind.rawValue, row.room, losses[0], losses[1], losses[2],
                still.map { CostLimits.hundredths($0.doubleTalkLikeness) } ?? "-", tenths(still?.doubleTalkLoss),
                tenths(row.figures[.moved]?.return25), tenths(row.figures[.routed]?.return25))
        }
        return table.lines
    }

    private static func lines(_ costs: [VoiceBench.Cost]) -> [String] {
        var table = Table("Choice", "Hz", "us for 10 ms", "Delay ms", "-35 dB becomes", "Allocations")
        for cost in costs {
            table.add(
                cost.kind.rawValue, "\(cost.rate)", tenths(cost.microseconds), tenths(cost.delayMilliseconds),
                tenths(cost.speechLevel), cost.allocations.map(String.init) ?? "-")
        }
        return table.lines
    }

    private static func tenths(_ number: Double?) -> String {
        number?.tenths ?? "-"
    }

    private static func document(
        _ bench: VoiceBench, _ rows: [VoiceBench.Row], _ costs: [VoiceBench.Cost]
    ) -> JSON {
        [
            "speech": .string(bench.source),
            "webrtcLibrary": VoiceProcessingKind.webRTCLibrary.map(JSON.string) ?? .null,
            "rooms": .array(
                rows.map { row in
                    let still = row.figures[.still]
                    return [
                        "choice": .string(row.kind.rawValue), "room": .string(row.room),
                        "lossDecibels": .array(VoiceTrial.times.map { number(still?.lossAfter[$0]) }),
                        "doubleTalkLikeness": number(still?.doubleTalkLikeness),
                        "doubleTalkLossDecibels": number(still?.doubleTalkLoss),
                        "movedSeconds": number(row.figures[.moved]?.return25),
                        "routedSeconds": number(row.figures[.routed]?.return25),
                    ]
                }),
            "costs": .array(
                costs.map { cost in
                    [
                        "choice": .string(cost.kind.rawValue), "rate": .integer(Int64(cost.rate)),
                        "microseconds": .number(cost.microseconds),
                        "delayMilliseconds": .number(cost.delayMilliseconds),
                        "speechLevelDecibels": .number(cost.speechLevel), "allocations": JSON(cost.allocations),
                    ]
                }),
        ]
    }

    private static func number(_ value: Double?) -> JSON { value.map(JSON.number) ?? .null }
}
