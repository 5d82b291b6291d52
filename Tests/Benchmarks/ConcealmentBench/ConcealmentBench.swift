import AudioDSP
import BTCallTrials
import Glibc

/// Quality of packet loss concealment: each codec, loss pattern and method, on generated speech, on voices that no constant
/// was fitted to, and on speech from files.
///
///     ConcealmentBench [--keep DIRECTORY] [NAME:8000=FILE NAME:16000=FILE …]
///
/// Files contain raw samples: 16 bit, mono, at the rate before the `=`. The results are written to DIRECTORY, as
/// `NAME,CODEC,PATTERN,METHOD,RATE.raw`, for external measures (Tests/Benchmarks/hearing.py). Fails when the concealment
/// misses the limits in docs/inside/Audio.md.
@main struct ConcealmentBench {
    private static let patterns: [LossPattern] = [
        .random(5), .random(10), .bursts(5, of: 2...3), .bursts(10, of: 2...3), .bursts(10, of: 4...6),
    ]
    /// Longer bursts are shown without a limit: after 20 ms speech cannot be predicted.
    private static let promised = 4
    private static let leastGain = 3.0
    private static let mostEnergy = 6.0

    static func main() {
        var arguments = CommandLine.arguments.dropFirst()
        var directory: String?
        if arguments.first == "--keep" {
            directory = arguments.dropFirst().first
            arguments = arguments.dropFirst(2)
        }
        var isKept = true
        show(["speech", "codec", "loss", "method", "SNR dB", "energy dB", "after dB", "clicks", "losses"])
        for format in [LinkFormat.mSBC, .cvsd] {
            let generated = Speech.samples(rate: format.rate, seconds: 15)
            if !run("generated", format, generated, directory) { isKept = false }
            let heldOut = Speech.samples(Speech.heldOut, rate: format.rate, seconds: 15, seed: 77)
            if !run("held out", format, heldOut, directory) { isKept = false }
            for argument in arguments {
                let parts = argument.split(separator: "=", maxSplits: 1)
                let source = parts.first.map { $0.split(separator: ":") } ?? []
                guard parts.count == 2, source.count == 2, let rate = Int(source[1]) else {
                    fail("not NAME:RATE=FILE: \(argument)")
                }
                if rate != format.rate { continue }
                // Voices from files are shown without limits.
                _ = run(String(source[0]), format, read(String(parts[1])), directory)
            }
        }
        if !isKept { fail("the concealment is not what Audio.md promises (marked with !)") }
    }

    private static func run(_ name: String, _ format: LinkFormat, _ speech: [Int16], _ directory: String?) -> Bool {
        var isKept = true
        let codec = format == .mSBC ? "mSBC" : "CVSD"
        for (number, pattern) in patterns.enumerated() {
            let trial = ConcealmentTrial(format, speech, pattern)
            var others: [ConcealmentTrial.Figures] = []
            for method in ConcealmentTrial.Method.allCases {
                let heard = trial.heard(method)
                let figures = trial.figures(heard)
                var mark = ""
                switch method {
                case .silence, .repetition:
                    others.append(figures)
                case .concealment:
                    let isBetter = others.allSatisfy { figures.lostRatio >= $0.lostRatio + leastGain }
                    let isAsLoud = abs(figures.lostEnergy) <= mostEnergy
                    if number < promised, !isBetter || !isAsLoud || figures.clicks > 0 {
                        mark = "!"
                        isKept = false
                    }
                }
                let energy = method == .silence ? "-" : decimal(figures.lostEnergy)
                show([
                    name, codec, pattern.name, method.rawValue + mark, decimal(figures.lostRatio), energy,
                    decimal(figures.afterRatio), "\(figures.clicks)", "\(figures.losses)",
                ])
                if let directory {
                    write(heard, "\(directory)/\(name),\(codec),\(pattern.name),\(method.rawValue),\(format.rate).raw")
                }
            }
            if let directory {
                write(trial.reference, "\(directory)/\(name),\(codec),\(pattern.name),reference,\(format.rate).raw")
            }
        }
        return isKept
    }

    // MARK: Files and text

    private static func read(_ path: String) -> [Int16] {
        guard let file = fopen(path, "r") else { fail("cannot open \(path)") }
        defer { fclose(file) }
        var samples: [Int16] = []
        var block = [Int16](repeating: 0, count: 8_192)
        while true {
            let count = fread(&block, MemoryLayout<Int16>.stride, block.count, file)
            if count == 0 { break }
            samples += block[0..<count]
        }
        if samples.count < 16_000 { fail("less than two seconds in \(path)") }
        return samples
    }

    private static func write(_ samples: [Int16], _ path: String) {
        guard let file = fopen(path, "w") else { fail("cannot write \(path)") }
        let written = fwrite(samples, MemoryLayout<Int16>.stride, samples.count, file)
        if fclose(file) != 0 || written != samples.count { fail("cannot write \(path)") }
    }

    private static func fail(_ why: String) -> Never {
        print("ConcealmentBench: \(why)")
        exit(1)
    }

    private static func show(_ columns: [String]) {
        let widths = [-12, -6, -22, -14, 8, 11, 10, 8, 8]
        print(zip(columns, widths).map(padded).joined())
    }

    private static func decimal(_ number: Double) -> String {
        let tenths = Int((abs(number) * 10).rounded())
        return "\(number < 0 && tenths > 0 ? "-" : "")\(tenths / 10).\(tenths % 10)"
    }

    /// Pads on the left, or on the right for a negative width.
    private static func padded(_ text: String, _ width: Int) -> String {
        let spaces = String(repeating: " ", count: max(abs(width) - text.count, 0))
        return width < 0 ? text + spaces : spaces + text
    }
}
