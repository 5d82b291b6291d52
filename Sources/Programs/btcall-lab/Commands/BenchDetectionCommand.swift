import ArgumentParser
import BTCallBench
import BTCallTrials
import CommandKit
import ControlLoop
import JSONText

struct BenchDetectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "detection",
        abstract: "Count false alarms on living voice links, and measure how soon dead ones are found.",
        discussion: """
            Generated links in virtual time, each with two seeds: steady packets, Wi-Fi beside them, sniff, role \
            switches, late packets, losses. False: how often the living link was taken for dead, without deaths \
            and, after the +, beside deaths. Median and longest: from the last sign of life to the alarm.

            --arrivals measures recorded links instead: a capture of `btmon -w FILE`, or a line SECONDS STATUS \
            for each packet; the status is 0 for good, 2 for nothing received, and may be left out.

            Exit codes: 0 no more false alarms than allowed, and every death was found in time; 1 one of these \
            does not hold; 2 the recording cannot be read, or has no packets.

            Examples:
              btcall-lab bench detection
              btcall-lab bench detection --arrivals call.btsnoop
            """)

    @Option(help: "Length of each course in minutes, 1 to 600.")
    var minutes = 60

    @Option(
        help: ArgumentHelp("A recording to measure in place of the courses.", valueName: "file"), completion: .file())
    var arrivals: String?

    @Flag(help: "Print JSON for programs.")
    var json = false

    func validate() throws {
        guard (1...600).contains(minutes) else { throw ValidationError("--minutes accepts 1 to 600") }
    }

    func run() throws {
        let code = measure(.terminal)
        if code != 0 { throw ExitCode(code) }
    }

    /// A day of a link is 700 MB.
    private static let mostBytes = 1 << 30

    /// - Returns: the exit code.
    private func measure(_ output: Output) -> Int32 {
        let rows: [DetectionBench.Row]
        if let arrivals {
            do {
                let bytes = try ForeignFile.read(arrivals, atMost: Self.mostBytes, kinds: .any)
                rows = DetectionBench.rows(try ArrivalRecording(bytes))
            } catch let refused as FileRefusal {
                output.printError("\(arrivals): cannot be read: \(refused.problem)")
                return 2
            } catch {
                output.printError("\(arrivals): \(error)")
                return 2
            }
        } else {
            rows = DetectionBench.rows(minutes: minutes)
        }
        if json { output.print(Self.document(rows)) } else { Self.lines(rows).forEach(output.print) }
        let violations = rows.flatMap(\.violations)
        violations.forEach(output.printError)
        return violations.isEmpty ? 0 : 1
    }

    private static func lines(_ rows: [DetectionBench.Row]) -> [String] {
        var table = Table(
            "Course", "Minutes", "False", "Allowed", "Found", "Missed", "Median ms", "Longest ms", "At most")
        for row in rows {
            table.add(
                row.name, row.minutes.tenths, "\(row.living.falseAlarms)+\(row.dying.falseAlarms)",
                "\(row.unannounced)+\(row.unannounced)", "\(row.dying.detections.count)", "\(row.dying.missed)",
                row.dying.usual?.whole ?? "-", row.dying.longest?.whole ?? "-", row.longestLimit.whole)
        }
        return table.lines
    }

    private static func document(_ rows: [DetectionBench.Row]) -> JSON {
        ["courses": .array(rows.map(object))]
    }

    private static func object(_ row: DetectionBench.Row) -> JSON {
        [
            "name": .string(row.name), "minutes": .number(row.minutes), "falseAlarms": JSON(row.living.falseAlarms),
            "falseAlarmsBesideDeaths": JSON(row.dying.falseAlarms), "allowedAlarms": JSON(row.unannounced),
            "found": JSON(row.dying.detections.count), "missed": JSON(row.dying.missed),
            "medianMs": number(row.dying.usual), "longestMs": number(row.dying.longest),
            "medianLimitMs": .number(row.usualLimit), "longestLimitMs": .number(row.longestLimit),
        ]
    }

    private static func number(_ value: Double?) -> JSON { value.map(JSON.number) ?? .null }
}
