package import VideoCapture

/// A driver's answers, written in one line: `YUYV 640x480@30,15 1280x720@10; MJPG 1280x720@30`.
///
/// | Text | Means |
/// |---|---|
/// | `640x480@30,15` | a discrete size with discrete rates; `a/b` is an interval instead of a rate |
/// | `640x480` | a size without intervals |
/// | `16..1280/16x16..720/8@…` | stepwise sizes |
/// | `16~1280x16~720@…` | continuous sizes |
/// | `@1/60..1/5+1/60` | stepwise intervals |
/// | `@1/60~1/5` | continuous intervals |
package struct DriverAnswers: Sendable {
    package private(set) var offers: [FormatOffer] = []
    /// For any size of the answer that it stands behind.
    private var intervals: [(format: PixelFormat, answer: SizeAnswer, intervals: [IntervalAnswer])] = []

    package init(_ text: String) throws {
        for part in text.split(separator: ";") {
            var words = part.split(separator: " ")
            let format = try Self.required(words.isEmpty ? nil : PixelFormat(String(words.removeFirst())))
            var sizes: [SizeAnswer] = []
            for word in words {
                let halves = word.split(separator: "@")
                let answer = try Self.size(halves[0])
                sizes.append(answer)
                let rates = halves.count > 1 ? try halves[1].split(separator: ",").map(Self.interval) : []
                intervals.append((format, answer, rates))
            }
            offers.append(FormatOffer(format, sizes: sizes))
        }
    }

    /// The answers to the questions of a negotiation, as the driver gives them.
    package func answers(to questions: [CaptureQuestion]) -> [CaptureQuestion: [IntervalAnswer]] {
        Dictionary(questions.map { ($0, intervals(of: $0)) }, uniquingKeysWith: { first, _ in first })
    }

    package func intervals(of question: CaptureQuestion) -> [IntervalAnswer] {
        intervals.first { $0.format == question.format && Self.has($0.answer, question.size) }?.intervals ?? []
    }

    private static func has(_ answer: SizeAnswer, _ size: FrameSize) -> Bool {
        switch answer {
        case .discrete(let width, let height): Int(width) == size.width && Int(height) == size.height
        case .stepwise, .continuous: true
        }
    }

    // MARK: Text

    package struct Mistake: Error {}

    package static func required<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Mistake() }
        return value
    }

    private static func size(_ text: Substring) throws -> SizeAnswer {
        let sides = text.split(separator: "x")
        guard sides.count == 2 else { throw Mistake() }
        if text.contains("..") { return .stepwise(width: try axis(sides[0], ".."), height: try axis(sides[1], "..")) }
        if text.contains("~") { return .continuous(width: try axis(sides[0], "~"), height: try axis(sides[1], "~")) }
        return .discrete(width: try number(sides[0]), height: try number(sides[1]))
    }

    private static func axis(_ text: Substring, _ separator: String) throws -> SizeAnswer.Axis {
        let parts = text.split(separator: "/")
        let ends = parts[0].split(separator: separator)
        guard ends.count == 2 else { throw Mistake() }
        return SizeAnswer.Axis(
            try number(ends[0]), try number(ends[1]), step: parts.count > 1 ? try number(parts[1]) : 1)
    }

    private static func interval(_ text: Substring) throws -> IntervalAnswer {
        if text.contains("~") {
            let ends = try text.split(separator: "~").map(fraction)
            guard ends.count == 2 else { throw Mistake() }
            return .continuous(least: ends[0], most: ends[1])
        }
        if text.contains("..") {
            let parts = text.split(separator: "+")
            let ends = try parts[0].split(separator: "..").map(fraction)
            guard ends.count == 2, parts.count == 2 else { throw Mistake() }
            return .stepwise(least: ends[0], most: ends[1], step: try fraction(parts[1]))
        }
        return .discrete(try fraction(text))
    }

    /// `1/30`, or a rate: `30`.
    private static func fraction(_ text: Substring) throws -> FrameInterval {
        let parts = try text.split(separator: "/").map(number)
        return parts.count == 2 ? FrameInterval(parts[0], parts[1]) : FrameInterval(1, parts[0])
    }

    private static func number(_ text: Substring) throws -> UInt32 { try required(UInt32(text)) }
}
