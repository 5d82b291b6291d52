import CallExchange
import Foundation

extension Demonstration.Result {
    /// Writes one WAV of what each device played, one of what the far end heard, `timeline.svg` and `report.json`.
    ///
    /// - Parameter folder: made when it does not exist; files of the same names are replaced.
    package func write(to folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        for device in recordings.devices {
            try write(device.played, folder + "/" + device.name.replacing(" ", with: "-") + ".wav")
        }
        try write(recordings.farEndHeard, folder + "/far-end.wav")
        try write(recordings.farEnd, folder + "/far-end-speech.wav")
        try TimelineDrawing.svg(recordings, report, routes: routes)
            .write(toFile: folder + "/timeline.svg", atomically: true, encoding: .utf8)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(report).write(to: URL(filePath: folder + "/report.json"))
    }

    private func write(_ samples: [Int16], _ path: String) throws {
        var writer = try WaveWriter(path: path, rate: DemoRecordings.rate)
        try writer.append(samples)
    }

    /// The verdict for a person.
    package func summary(folder: String) -> String {
        var lines = ["", "step  gap down  gap up  limit"]
        for step in report.steps {
            let figures = [step.downlinkGapMs, step.uplinkGapMs, step.limitMs].map { "\($0) ms" }
            lines.append(
                "\(step.number)     "
                    + figures.map { $0 + String(repeating: " ", count: max(1, 9 - $0.count)) }.joined()
                    + (step.isPassed ? "ok  " : "LOST  ") + step.title)
        }
        for gap in report.strayGapsMs { lines.append("LOST  \(gap) ms outside of any step") }
        lines.append(
            report.passed ? "Nothing was lost beyond the limits." : "Speech was lost: listen to the recordings.")
        lines.append("Recordings, timeline.svg and report.json are in \(folder)/")
        return lines.joined(separator: "\n")
    }
}
