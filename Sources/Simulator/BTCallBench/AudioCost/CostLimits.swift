/// Cost limits of the audio path's stages, as multiples of the reference stage: a ratio is the same on slow and fast
/// machines, and nearly so on a busy one.
package struct CostLimits: Equatable, Sendable {
    package struct Malformed: Error, Equatable, CustomStringConvertible {
        package let line: Int
        package let description: String
    }

    package let ratios: [String: Double]

    /// Reads lines `RATIO NAME`; ignores empty lines and text after `#`.
    package init(_ text: String) throws(Malformed) {
        var ratios: [String: Double] = [:]
        var number = 0
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            number += 1
            let content = line.prefix { $0 != "#" }
            let words = content.split(separator: " ", maxSplits: 1)
            if words.isEmpty { continue }
            guard words.count == 2, let ratio = Double(words[0]), ratio > 0, ratio.isFinite else {
                throw Malformed(line: number, description: "line \(number) is not RATIO NAME, as in \"1.5 send mSBC\"")
            }
            let name = words[1].drop { $0 == " " }.reversed().drop { $0 == " " }.reversed()
            ratios[String(name)] = ratio
        }
        self.ratios = ratios
    }

    /// Descriptions of the violations: a stage that costs too much, one without a limit, a limit without a stage, and a
    /// stage that allocates.
    package func violations(_ stages: [StageCost]) -> [String] {
        guard let reference = stages.first(where: { $0.name == AudioStages.reference }) else {
            return ["\(AudioStages.reference) was not measured"]
        }
        var lines: [String] = []
        for stage in stages {
            if let count = stage.allocations, count > 0 {
                lines.append("\(stage.name) asked for memory \(count) times: the audio thread must not")
            }
            if stage.name == reference.name { continue }
            guard let limit = ratios[stage.name] else {
                lines.append("\(stage.name) has no limit: add a line for it")
                continue
            }
            let ratio = stage.microseconds / reference.microseconds
            if ratio > limit {
                lines.append(
                    "\(stage.name) costs \(Self.hundredths(ratio)) times \(reference.name); at most \(limit)")
            }
        }
        for name in ratios.keys.sorted() where !stages.contains(where: { $0.name == name }) {
            lines.append("there is no stage \"\(name)\" to hold to its limit")
        }
        return lines
    }

    package static func hundredths(_ number: Double) -> String {
        guard number.isFinite, number < 1e9 else { return "\(number)" }
        let value = Int((number * 100).rounded())
        return "\(value / 100)." + (value % 100 < 10 ? "0" : "") + "\(value % 100)"
    }
}
