package import AudioDSP
package import BTCallTrials
import Glibc

/// Benchmark of each voice processing choice in each synthetic room: the remaining echo and near end, and the cost.
package struct VoiceBench {
    /// One choice in one room.
    package struct Row: Sendable {
        package let kind: VoiceProcessingKind
        package let room: String
        /// Figures by the course of the trial.
        package let figures: [VoiceTrial.Course: VoiceTrial.Figures]

        /// Guarantees of ``VoiceBench`` for the preferred choice that this row violates.
        package var violations: [String] {
            var lines: [String] = []
            let who = "\(kind.rawValue), \(room)"
            let loss = figures[.still]?.lossAfter[3] ?? 0
            if loss < VoiceBench.leastLoss { lines.append("\(who): after 3 s the echo has lost \(Int(loss)) dB only") }
            if figures[.moved]?.return25 ?? .infinity > 3 { lines.append("\(who), moved: not back after 3 s") }
            if figures[.routed]?.return25 ?? .infinity > 1 { lines.append("\(who), routed: not back after 1 s") }
            return lines
        }
    }

    /// One choice at one rate, with every stage on.
    package struct Cost: Sendable {
        package let kind: VoiceProcessingKind
        package let rate: Int
        package let delayMilliseconds: Double
        /// For 10 ms; the shortest of three runs.
        package let microseconds: Double
        /// Allocations in all runs; nil when they are not counted.
        package let allocations: Int?
        /// Output level in decibels of speech at -35 dB.
        package let speechLevel: Double

        package var violations: [String] {
            let who = "\(kind.rawValue), \(rate) Hz"
            var lines: [String] = []
            if let allocations, allocations > 0 { lines.append("\(who): asked for memory \(allocations) times") }
            if (speechLevel + 20).magnitude > 3 {
                lines.append("\(who): speech of -35 dB comes out with \(speechLevel) dB")
            }
            return lines
        }
    }

    package static let leastLoss = 25.0

    /// Source of the speech.
    package let source: String
    private let rate: Int
    private let far: [Int16]
    private let near: [Int16]

    /// - Parameter rate: 8000, 16000, 32000 or 48000 Hz; at 16000 espeak-ng speaks, if installed.
    package init(rate: Int) {
        self.rate = rate
        let seconds = VoiceTrial.doubleTalk.upperBound
        let count = Int(seconds * Double(rate))
        if rate == SpeechSource.rate, let spoken = Self.spoken(count) {
            source = "espeak-ng"
            (far, near) = spoken
        } else {
            source = "generated speech"
            far = Array(Speech.samples(rate: rate, seconds: 5).prefix(count))
            near = Array(Speech.samples(Speech.heldOut, rate: rate, seconds: 5, seed: 77).prefix(count))
        }
    }

    private static func spoken(_ count: Int) -> (far: [Int16], near: [Int16])? {
        let texts = [
            "The north wind and the sun were disputing which was the stronger, when a traveller came along wrapped in a"
                + " warm cloak. They agreed that the one who first made the traveller take his cloak off should be"
                + " considered stronger than the other.",
            "Please call Stella. Ask her to bring these things with her from the store: six spoons of fresh snow peas,"
                + " five thick slabs of blue cheese, and maybe a snack for her brother Bob.",
        ]
        let voices = [("en-us+m1", 50), ("en-us+f2", 60)]
        var result: [[Int16]] = []
        for (text, voice) in zip(texts, voices) {
            // Without espeak-ng other speech is used.
            guard let spoken = try? SpeechSource.synthesise(text, voice: voice.0, pitch: voice.1) else { return nil }
            let long = (0..<count).map { Double(spoken[$0 % spoken.count]) }
            let level = (long.reduce(0) { $0 + $1 * $1 } / Double(count)).squareRoot()
            result.append(long.map { Int16(max(-32_768, min(32_767, ($0 / max(level, 1) * 2_600).rounded()))) })
        }
        return (result[0], result[1])
    }

    package static var kinds: [VoiceProcessingKind] { VoiceProcessingKind.allCases.filter(\.isAvailable) }

    package func rows(_ kinds: [VoiceProcessingKind] = kinds) throws(VoiceProcessorError) -> [Row] {
        var rows: [Row] = []
        for room in Room.rooms {
            let trials = VoiceTrial.Course.allCases.map { VoiceTrial($0, in: room, rate: rate, far: far, near: near) }
            for kind in kinds {
                var figures: [VoiceTrial.Course: VoiceTrial.Figures] = [:]
                for trial in trials { figures[trial.course] = try trial.figures(kind) }
                rows.append(Row(kind: kind, room: room.name, figures: figures))
            }
        }
        return rows
    }

    package static func costs(_ kinds: [VoiceProcessingKind] = kinds) throws(VoiceProcessorError) -> [Cost] {
        var costs: [Cost] = []
        for rate in [8_000, 16_000, 32_000, 48_000] {
            let speech = Array(Speech.samples(Speech.heldOut, rate: rate, seconds: 3, seed: 77))
            let trial = VoiceTrial(.still, in: Room.rooms[1], rate: rate, far: speech, near: speech)
            for kind in kinds { costs.append(try cost(kind, rate, trial, speech)) }
        }
        return costs
    }

    private static func cost(
        _ kind: VoiceProcessingKind, _ rate: Int, _ trial: VoiceTrial, _ speech: [Int16]
    ) throws(VoiceProcessorError) -> Cost {
        var processor = try VoiceProcessor(kind, rate: rate)
        var (best, allocations) = (Double.infinity, AllocationCounter.count.map { _ in 0 })
        for _ in 0..<3 {
            let before = AllocationCounter.count
            let (output, microseconds) = trial.run(&processor)
            let after = AllocationCounter.count
            best = min(best, microseconds)
            // The output itself is exactly one allocation.
            if let before, let after, let sum = allocations { allocations = sum + max(0, after - before - 1) }
            precondition(output.count == trial.microphone.count, "as much comes out as goes in")
        }
        return Cost(
            kind: kind, rate: rate, delayMilliseconds: Double(processor.delayFrames) * 1000 / Double(rate),
            microseconds: best, allocations: allocations, speechLevel: try speechLevel(kind, rate, speech))
    }

    /// Level of the second half, in decibels of full scale.
    private static func speechLevel(
        _ kind: VoiceProcessingKind, _ rate: Int, _ speech: [Int16]
    ) throws(VoiceProcessorError) -> Double {
        var processor = try VoiceProcessor(kind, rate: rate)
        let level = (speech.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(speech.count)).squareRoot()
        let wanted = 32_768 * pow(10, -35.0 / 20)
        var samples = speech.map { Int16((Double($0) * wanted / max(level, 1)).rounded()) }
        let silence = [Int16](repeating: 0, count: rate / 100)
        for block in 0..<samples.count / silence.count {
            samples.withUnsafeMutableBufferPointer { samples in
                guard let base = samples.baseAddress else { return }
                processor.process(base + block * silence.count, far: silence)
            }
        }
        let half = samples[(samples.count / 2)...]
        let power = half.reduce(0.0) { $0 + Double($1) * Double($1) } / Double(half.count)
        return 10 * log10(max(power, 1) / (32_768 * 32_768))
    }
}
