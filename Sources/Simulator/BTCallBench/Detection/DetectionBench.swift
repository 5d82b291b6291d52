package import BTCallTrials

/// How often living links are taken for dead, and how soon dead ones are found, in virtual time.
package struct DetectionBench: Sendable {
    /// One course with one seed, or one recorded link.
    package struct Row: Sendable {
        package let name: String
        package let minutes: Double
        /// The link while its headset lives, and the same with deaths.
        package let living: DetectionTrial
        package let dying: DetectionTrial
        /// Most false alarms of either.
        package let unannounced: Int
        /// Most milliseconds from the last sign of life to the alarm, in half of the deaths, and in all.
        package let usualLimit: Double
        package let longestLimit: Double

        /// The usual time is judged from this number of deaths on: fewer are too few for half of them to say anything.
        private static var judgedDeaths: Int { 5 }

        /// What a link does that it must not.
        package var violations: [String] {
            var lines: [String] = []
            if living.falseAlarms > unannounced { lines.append("\(name): \(living.falseAlarms) false alarms") }
            if dying.falseAlarms > unannounced {
                lines.append("\(name), with deaths: \(dying.falseAlarms) false alarms")
            }
            if dying.missed > 0 { lines.append("\(name): \(dying.missed) deaths were not found") }
            if let usual = dying.usual, dying.detections.count >= Self.judgedDeaths, usual > usualLimit {
                lines.append("\(name): half of the deaths took \(Int(usual)) ms, at most \(Int(usualLimit))")
            }
            if let longest = dying.longest, longest > longestLimit {
                lines.append("\(name): a death took \(Int(longest)) ms, at most \(Int(longestLimit))")
            }
            return lines
        }
    }

    /// The courses of ``ArrivalCourse/all``.
    ///
    /// - Parameters:
    ///   - minutes: length of each course.
    ///   - seeds: a row for each course and seed.
    package static func rows(minutes: Int, seeds: ClosedRange<UInt64> = 1...2) -> [Row] {
        let duration = Int64(minutes) * 60_000_000_000
        return ArrivalCourse.all.flatMap { course in
            seeds.map { seed in
                Row(
                    name: "\(course.name) \(seed)", minutes: Double(minutes),
                    living: DetectionTrial(course.arrivals(seed: seed), for: duration),
                    dying: DetectionTrial(
                        course.arrivals(seed: seed), for: duration, deaths: seed, reportsLosses: course.losses != nil),
                    unannounced: course.unannounced, usualLimit: course.usualLimit, longestLimit: course.longestLimit)
            }
        }
    }

    /// The links of a recording, each as it is and with deaths: without a false alarm, and found within the greatest
    /// limit of an adaptive link.
    package static func rows(_ recording: ArrivalRecording) -> [Row] {
        recording.links.enumerated().map { index, arrivals in
            let duration = arrivals.last?.time ?? 0
            let reportsLosses = arrivals.contains { $0.status == 2 }
            return Row(
                name: "link \(index + 1)", minutes: Double(duration) / 60_000_000_000,
                living: DetectionTrial(arrivals, for: duration),
                dying: DetectionTrial(arrivals, for: duration, deaths: 1, reportsLosses: reportsLosses),
                unannounced: 0, usualLimit: 250, longestLimit: 250)
        }
    }
}
