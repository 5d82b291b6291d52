package import BTCallSimulator
import Dispatch
import Synchronization

/// Results of the demonstration, computed from the recordings alone.
package struct DemoReport: Codable, Sendable {
    package enum Verdict: String, Codable, Sendable {
        /// All losses are within the limits.
        case passed
        /// Speech was lost while the machine kept time.
        case lost
        /// All losses occurred while the machine itself delayed the simulated devices: no statement about btcall.
        case tooBusy
    }

    /// One of the four steps, and the longest loss of speech around it.
    package struct Step: Codable, Sendable {
        package let number: Int
        package let title: String
        /// Seconds since the beginning of the recordings.
        package let at: Double
        /// Longest part of the far end's speech that no device played, in milliseconds.
        package let downlinkGapMs: Int
        /// Longest time in which the far end heard none of the microphones, in milliseconds.
        package let uplinkGapMs: Int
        /// Longest allowed gap.
        package let limitMs: Int
        package let verdict: Verdict
    }

    /// A period in which one device carried the call.
    package struct Stretch: Codable, Sendable {
        package let device: String
        package let from: Double
        package let to: Double
    }

    package let steps: [Step]
    /// Periods in which the far end's speech was found, by device, in order of time.
    package let played: [Stretch]
    /// Periods by the microphone that the far end heard.
    package let heard: [Stretch]
    /// Gaps that belong to no step, while the machine kept time; each is a failure.
    package let strayGapsMs: [Int]
    /// Longest delay of the simulated devices by the machine.
    package let latestTickMs: Int
    package let verdict: Verdict
    package var passed: Bool { verdict == .passed }
}

/// A part that was not heard, and its cause.
private struct DemoGap {
    let length: Int
    /// Whether the machine was late at about that time.
    let isExcused: Bool

    func verdict(limit: Int) -> DemoReport.Verdict {
        length <= limit ? .passed : isExcused ? .tooBusy : .lost
    }
}

extension [DemoReport.Verdict] {
    /// The combined verdict: one loss by btcall counts, even if the machine was late elsewhere.
    fileprivate var worst: DemoReport.Verdict {
        contains(.lost) ? .lost : contains(.tooBusy) ? .tooBusy : .passed
    }
}

/// The recordings of a demonstration and the original speech.
package struct DemoRecordings: Sendable {
    package struct Device: Sendable {
        package let name: String
        /// The device's playback on the common time line, at `DemoRecordings.rate`.
        package var played: [Int16]
        /// Its microphone's speech, on the same time line.
        package let microphone: [Int16]

        package init(name: String, played: [Int16], microphone: [Int16]) {
            self.name = name
            self.played = played
            self.microphone = microphone
        }
    }

    package struct Step: Sendable {
        package let number: Int
        package let title: String
        /// Seconds on the time line.
        package let at: Double
        package let limitMs: Int

        package init(number: Int, title: String, at: Double, limitMs: Int) {
            self.number = number
            self.title = title
            self.at = at
            self.limitMs = limitMs
        }
    }

    package static let rate = SpeechSource.rate
    package var devices: [Device]
    /// The far end's speech, from its first block.
    package let farEnd: [Int16]
    /// The audio that the far end heard, from its first block.
    package var farEndHeard: [Int16]
    /// Time of the far end's first exchanged block, in seconds on the time line.
    package let farEndStart: Double
    package let steps: [Step]
    /// Times at which the machine was late for the simulated devices.
    package var lateTicks: [AudioPacer.LateTick]

    package init(
        devices: [Device], farEnd: [Int16], farEndHeard: [Int16], farEndStart: Double, steps: [Step],
        lateTicks: [AudioPacer.LateTick] = []
    ) {
        self.devices = devices
        self.farEnd = farEnd
        self.farEndHeard = farEndHeard
        self.farEndStart = farEndStart
        self.steps = steps
        self.lateTicks = lateTicks
    }

    /// The band that all codecs carry: signals are compared in the narrow band, but on the finer raster, so that half a
    /// frame of delay does not look like a difference.
    private static let narrowRate = 8000

    /// Compares every recording with the speech and attributes gaps to the steps.
    ///
    /// - Parameter onProgress: receives the number of finished comparisons and their total; called on any thread.
    package func report(onProgress: @Sendable (Int, Int) -> Void = { _, _ in }) -> DemoReport {
        let shift = Int(farEndStart * 1000)
        // The far end's clock begins later than the recordings'; queues add up to half a second.
        let down = ContinuityAnalysis(rate: Self.rate, delay: shift - 100...shift + 500)
        let up = ContinuityAnalysis(rate: Self.rate, delay: -shift - 100...(-shift + 500))
        let count = devices.count
        let narrow = Self.concurrently(2 * count + 2) { index in
            let wide =
                switch index {
                case ..<count: devices[index].played
                case ..<(2 * count): devices[index - count].microphone
                default: index == 2 * count ? farEnd : farEndHeard
                }
            return Self.narrow(wide)
        }
        let (said, received) = (narrow[2 * count], narrow[2 * count + 1])
        let done = Atomic(0)
        let found = Self.concurrently(2 * count) { index in
            let segments =
                index < count
                ? down.segments(of: narrow[index], source: index, reference: said)
                : up.segments(of: received, source: index - count, reference: narrow[index])
            onProgress(done.add(1, ordering: .relaxed).newValue, 2 * count)
            return segments
        }
        let played = found[..<count].flatMap { $0 }
        let microphones = Array(narrow[count..<2 * count])
        let heard = ContinuityAnalysis.withoutResemblance(found[count...].flatMap { $0 })
        let faded = up.mixtures(of: received, heard, references: microphones)
        // Each microphone has its own signal: only times without any microphone count.
        let upGaps = up.gaps(
            (heard + faded).map { ContinuityAnalysis.Segment(source: 0, recorded: $0.recorded, reference: $0.recorded) }
        )
        return report(
            down: attributed(down.gaps(played), offset: 0), up: attributed(upGaps, offset: farEndStart),
            played: stretches(played, offset: 0), heard: stretches(heard, offset: farEndStart))
    }

    private func report(
        down: [Int: [DemoGap]], up: [Int: [DemoGap]], played: [DemoReport.Stretch], heard: [DemoReport.Stretch]
    ) -> DemoReport {
        let judged = steps.enumerated().map { index, step in
            let (downGaps, upGaps) = (down[index] ?? [], up[index] ?? [])
            return DemoReport.Step(
                number: step.number, title: step.title, at: step.at,
                downlinkGapMs: downGaps.map(\.length).max() ?? 0, uplinkGapMs: upGaps.map(\.length).max() ?? 0,
                limitMs: step.limitMs, verdict: (downGaps + upGaps).map { $0.verdict(limit: step.limitMs) }.worst)
        }
        let stray = (down[-1] ?? []) + (up[-1] ?? [])
        return DemoReport(
            steps: judged, played: played, heard: heard, strayGapsMs: stray.filter { !$0.isExcused }.map(\.length),
            latestTickMs: lateTicks.map(\.milliseconds).max() ?? 0,
            verdict: (judged.map(\.verdict) + stray.map { $0.verdict(limit: 0) }).worst)
    }

    /// Gaps by the index of their step, -1 for gaps of no step.
    private func attributed(_ gaps: [ContinuityAnalysis.Gap], offset: Double) -> [Int: [DemoGap]] {
        Dictionary(
            grouping: gaps.map { gap in
                let at = Double(gap.position) / Double(Self.rate) + offset
                let end = at + Double(gap.length) / Double(Self.rate)
                // A step's effects occur within four seconds: connection, settling, set-up of the link.
                let step = steps.indices.last { steps[$0].at - 0.3 <= at && at < steps[$0].at + 4 } ?? -1
                // A delay shows later, after the queued audio; a headset lost because of it returns even later.
                let isExcused = lateTicks.contains { at - 1 <= $0.at && $0.at <= end + 0.5 }
                return (step, DemoGap(length: gap.length * 1000 / Self.rate, isExcused: isExcused))
            }, by: \.0
        ).mapValues { $0.map(\.1) }
    }

    private static func narrow(_ samples: [Int16]) -> [Int16] {
        let low = OfflineResampler.convert(samples, from: rate, to: narrowRate)
        return OfflineResampler.convert(low, from: narrowRate, to: rate)
    }

    /// The results of `body` for 0 to `count` - 1, in order; uses all processors.
    private static func concurrently<Value: Sendable>(_ count: Int, _ body: @Sendable (Int) -> Value) -> [Value] {
        let results = Mutex([Value?](repeating: nil, count: count))
        DispatchQueue.concurrentPerform(iterations: count) { index in
            let value = body(index)
            results.withLock { $0[index] = value }
        }
        return results.withLock { $0.compactMap { $0 } }
    }

    private func stretches(_ segments: [ContinuityAnalysis.Segment], offset: Double) -> [DemoReport.Stretch] {
        var stretches: [DemoReport.Stretch] = []
        for segment in segments.sorted(by: { $0.recorded.lowerBound < $1.recorded.lowerBound }) {
            let from = Double(segment.recorded.lowerBound) / Double(Self.rate) + offset
            let to = Double(segment.recorded.upperBound) / Double(Self.rate) + offset
            let name = devices[segment.source].name
            if let last = stretches.last, last.device == name, from - last.to < 0.05 {
                stretches[stretches.count - 1] = .init(device: name, from: last.from, to: to)
            } else {
                stretches.append(.init(device: name, from: from, to: to))
            }
        }
        return stretches
    }
}
