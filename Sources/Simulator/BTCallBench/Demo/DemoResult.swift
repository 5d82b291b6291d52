import CallExchange
import Foundation

extension Demonstration.Result {
    /// Writes one WAV of each device's playback, one of the far end's, `timeline.svg` and `report.json`.
    ///
    /// - Parameter folder: created when it does not exist; files of the same names are replaced.
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
                    + step.verdict.word + step.title)
        }
        for gap in report.strayGapsMs { lines.append("LOST  \(gap) ms outside of any step") }
        lines.append("")
        switch report.verdict {
        case .passed: lines.append("Nothing was lost beyond the limits.")
        case .lost: lines.append("Speech was lost: listen to the recordings.")
        case .tooBusy:
            lines.append("This machine was too busy to measure: the simulated headsets stood still for up to")
            lines.append("\(report.latestTickMs) ms, and all losses occurred then. This says nothing about btcall.")
            lines.append("End other programs, and run it again.")
        }
        lines.append("Look:   \(folder)/timeline.svg, in a browser")
        lines.append("Listen: aplay \(folder)/far-end.wav: what the far end heard")
        lines.append(
            "        the other .wav files are each device's playback; btcalld.log is the daemon's log")
        return lines.joined(separator: "\n")
    }
}

extension DemoReport.Verdict {
    /// Padded to one column's width.
    fileprivate var word: String {
        switch self {
        case .passed: "ok    "
        case .lost: "LOST  "
        case .tooBusy: "busy  "
        }
    }
}
