import Foundation

/// What the demonstration measured, computed from the recordings alone.
package struct DemoReport: Codable, Sendable {
    /// One of the four steps, and how long nothing of the speech got through around it.
    package struct Step: Codable, Sendable {
        package let number: Int
        package let title: String
        /// Seconds since the beginning of the recordings.
        package let at: Double
        /// Longest stretch of the far end's speech that no device played, in milliseconds.
        package let downlinkGapMs: Int
        /// Longest stretch in which the far end heard none of the microphones, in milliseconds.
        package let uplinkGapMs: Int
        /// What is allowed.
        package let limitMs: Int
        package var isPassed: Bool { max(downlinkGapMs, uplinkGapMs) <= limitMs }

        private enum CodingKeys: String, CodingKey {
            case number, title, at, downlinkGapMs, uplinkGapMs, limitMs, passed
        }

        package init(number: Int, title: String, at: Double, downlinkGapMs: Int, uplinkGapMs: Int, limitMs: Int) {
            self.number = number
            self.title = title
            self.at = at
            self.downlinkGapMs = downlinkGapMs
            self.uplinkGapMs = uplinkGapMs
            self.limitMs = limitMs
        }

        package init(from decoder: any Decoder) throws {
            let values = try decoder.container(keyedBy: CodingKeys.self)
            number = try values.decode(Int.self, forKey: .number)
            title = try values.decode(String.self, forKey: .title)
            at = try values.decode(Double.self, forKey: .at)
            downlinkGapMs = try values.decode(Int.self, forKey: .downlinkGapMs)
            uplinkGapMs = try values.decode(Int.self, forKey: .uplinkGapMs)
            limitMs = try values.decode(Int.self, forKey: .limitMs)
        }

        package func encode(to encoder: any Encoder) throws {
            var values = encoder.container(keyedBy: CodingKeys.self)
            try values.encode(number, forKey: .number)
            try values.encode(title, forKey: .title)
            try values.encode(at, forKey: .at)
            try values.encode(downlinkGapMs, forKey: .downlinkGapMs)
            try values.encode(uplinkGapMs, forKey: .uplinkGapMs)
            try values.encode(limitMs, forKey: .limitMs)
            try values.encode(isPassed, forKey: .passed)
        }
    }

    /// A stretch in which one device carried the call.
    package struct Stretch: Codable, Sendable {
        package let device: String
        package let from: Double
        package let to: Double
    }

    package let steps: [Step]
    /// Where the far end's speech was found, by device, in order of time.
    package let played: [Stretch]
    /// Whose microphone the far end heard.
    package let heard: [Stretch]
    /// Gaps that belong to no step; each is a failure.
    package let strayGapsMs: [Int]
    package let passed: Bool

    package init(steps: [Step], played: [Stretch], heard: [Stretch], strayGapsMs: [Int]) {
        self.steps = steps
        self.played = played
        self.heard = heard
        self.strayGapsMs = strayGapsMs
        passed = steps.allSatisfy(\.isPassed) && strayGapsMs.isEmpty
    }
}

/// The recordings of a demonstration and the speech that was in them.
package struct DemoRecordings: Sendable {
    package struct Device: Sendable {
        package let name: String
        /// What it played, on the common time line, at `DemoRecordings.rate`.
        package var played: [Int16]
        /// What its microphone said, on the same time line.
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
    /// What the far end said, from its first block on.
    package let farEnd: [Int16]
    /// What the far end heard, from its first block on.
    package var farEndHeard: [Int16]
    /// When the far end's first block was exchanged, in seconds on the time line.
    package let farEndStart: Double
    package let steps: [Step]

    package init(
        devices: [Device], farEnd: [Int16], farEndHeard: [Int16], farEndStart: Double, steps: [Step]
    ) {
        self.devices = devices
        self.farEnd = farEnd
        self.farEndHeard = farEndHeard
        self.farEndStart = farEndStart
        self.steps = steps
    }

    /// What all codecs carry: the comparison is made in the narrow band, but on the finer raster, so that half a frame
    /// of delay does not look like a difference.
    private static let narrowRate = 8000

    /// Compares every recording with the speech and attributes what is missing to the steps.
    package func report() -> DemoReport {
        let rate = Self.rate
        func narrow(_ samples: [Int16]) -> [Int16] {
            let low = OfflineResampler.convert(samples, from: rate, to: Self.narrowRate)
            return OfflineResampler.convert(low, from: Self.narrowRate, to: rate)
        }
        let shift = Int(farEndStart * 1000)
        // The far end's clock begins later than the recordings'; queues add up to half a second.
        let down = ContinuityAnalysis(rate: rate, delay: shift - 100...shift + 500)
        let up = ContinuityAnalysis(rate: rate, delay: -shift - 100...(-shift + 500))
        let said = narrow(farEnd)
        let received = narrow(farEndHeard)
        let played = devices.enumerated().flatMap { index, device in
            down.segments(of: narrow(device.played), source: index, reference: said)
        }
        let microphones = devices.map { narrow($0.microphone) }
        let heard = microphones.enumerated().flatMap { index, microphone in
            up.segments(of: received, source: index, reference: microphone)
        }
        let faded = up.mixtures(of: received, heard, references: microphones)
        let downGaps = down.gaps(played)
        // Each microphone is a signal of its own: only the time in which none is heard counts.
        let upGaps = up.gaps(
            (heard + faded).map { ContinuityAnalysis.Segment(source: 0, recorded: $0.recorded, reference: $0.recorded) }
        )
        var stray: [Int] = []
        var downByStep = [Int](repeating: 0, count: steps.count)
        var upByStep = downByStep
        func note(_ gaps: [ContinuityAnalysis.Gap], offset: Double, _ byStep: inout [Int]) {
            for gap in gaps {
                let at = Double(gap.position) / Double(rate) + offset
                let length = gap.length * 1000 / rate
                // A step's effects come within four seconds: connection, settling, set-up of the link.
                if let step = steps.indices.last(where: { steps[$0].at - 0.3 <= at && at < steps[$0].at + 4 }) {
                    byStep[step] = max(byStep[step], length)
                } else {
                    stray.append(length)
                }
            }
        }
        note(downGaps, offset: 0, &downByStep)
        note(upGaps, offset: farEndStart, &upByStep)
        return DemoReport(
            steps: steps.enumerated().map { index, step in
                DemoReport.Step(
                    number: step.number, title: step.title, at: step.at, downlinkGapMs: downByStep[index],
                    uplinkGapMs: upByStep[index], limitMs: step.limitMs)
            }, played: stretches(played, offset: 0), heard: stretches(heard, offset: farEndStart), strayGapsMs: stray)
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
