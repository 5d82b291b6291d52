/// Agreement with a camera's driver on format, size and rate: what the driver enumerates and what is requested go in; what to
/// set, and what was reached, come out.
///
/// A driver may answer with something other than it enumerates. Then the next choices are tried, at most
/// ``mostAttempts``, and at the end the best of the answers is set again.
package struct CaptureNegotiation: Sendable {
    package enum Action: Hashable, Sendable {
        case set(CaptureChoice)
        case reached(CaptureSettings)
        case refused(CaptureRefusal)
    }

    /// The driver's answer to a setting.
    package enum Answer: Hashable, Sendable {
        /// - Parameter interval: nil if the driver does not say it.
        case set(format: PixelFormat, width: UInt32, height: UInt32, interval: FrameInterval?)
        case refused
    }

    private enum State: Hashable, Sendable {
        case idle
        /// The index of a choice.
        case trying(Int)
        /// The best choice, a second time.
        case settling(Int)
        case over(Action)
    }

    /// Answers of a driver beyond these numbers are not asked for, and not read.
    package static let mostFormats = 64
    package static let mostSizes = 256
    package static let mostIntervals = 256
    /// Sizes of one format whose intervals are asked for.
    static let mostQuestions = 16
    package static let mostAttempts = 4

    private let request: CaptureRequest
    private let choices: [CaptureChoice]
    private let refusal: CaptureRefusal?
    private var state = State.idle
    /// Usable answers that differ from their choice.
    private var others: [(index: Int, settings: CaptureSettings)] = []

    /// The formats and sizes whose intervals matter, each once, at most 16 for a format.
    package static func questions(_ offers: [FormatOffer], for request: CaptureRequest) -> [CaptureQuestion] {
        var seen: Set<CaptureQuestion> = []
        return offers.prefix(mostFormats).filter { $0.format.rank != nil }.flatMap { offer in
            let questions = sizes(offer.sizes, for: request).prefix(mostQuestions).map {
                CaptureQuestion(offer.format, $0)
            }
            return questions.filter { seen.insert($0).inserted }
        }
    }

    /// The sizes to consider, the best first.
    private static func sizes(_ answers: [SizeAnswer], for request: CaptureRequest) -> [FrameSize] {
        let legal = answers.prefix(mostSizes)
        var seen: Set<FrameSize> = []
        switch request.resolution {
        case .automatic:
            let all = legal.flatMap(\.usualSizes).filter { seen.insert($0).inserted }
            return all.sorted { CaptureScore.shape($0).lexicographicallyPrecedes(CaptureScore.shape($1)) }
        case .size(let wanted):
            let all = legal.flatMap { $0.sizes(around: wanted) }.filter { seen.insert($0).inserted }
            return all.sorted { ($0.distance(to: wanted), -$0.area) < ($1.distance(to: wanted), -$1.area) }
        }
    }

    /// - Parameters:
    ///   - offers: formats and sizes in the driver's order.
    ///   - intervals: answers to ``questions(_:for:)``; a question without an answer has no known rate.
    package init(
        _ request: CaptureRequest, _ offers: [FormatOffer], intervals: [CaptureQuestion: [IntervalAnswer]]
    ) {
        self.request = request
        let questions = Self.questions(offers, for: request)
        let choices = questions.map { question in
            let legal = (intervals[question] ?? []).prefix(Self.mostIntervals)
            let found = legal.flatMap { $0.intervals(around: request.interval) }
            return CaptureChoice(question.format, question.size, Self.interval(found, for: request))
        }
        // Equal scores keep the driver's order.
        self.choices = choices.map { ($0, CaptureScore($0.format, $0.size, $0.interval?.rate, request)) }
            .enumerated().sorted { ($0.element.1, $0.offset) < ($1.element.1, $1.offset) }
            .map(\.element.0)
        let formats = offers.prefix(Self.mostFormats).map(\.format)
        let usable = formats.filter { $0.rank != nil }
        refusal = usable.isEmpty ? .noFormat(offered: formats) : questions.isEmpty ? .noSize(usable) : nil
    }

    /// The interval to set at one size: `auto` takes the slowest rate that holds the requested one, otherwise the fastest; a
    /// fixed size takes the nearest rate, of two equally near ones the faster.
    private static func interval(_ legal: [FrameInterval], for request: CaptureRequest) -> FrameInterval? {
        guard let wanted = request.rate else { return nil }
        let rated = legal.compactMap { interval in interval.rate.map { (interval: interval, rate: $0) } }
        switch request.resolution {
        case .automatic:
            let holding = rated.filter { $0.rate.holds(wanted) }
            let best = holding.min { $0.rate.distance(to: wanted) < $1.rate.distance(to: wanted) }
            return (best ?? rated.max { $0.rate < $1.rate })?.interval
        case .size:
            return rated.min {
                ($0.rate.distance(to: wanted), -$0.rate.thousandths)
                    < ($1.rate.distance(to: wanted), -$1.rate.thousandths)
            }?.interval
        }
    }

    package mutating func start() -> Action {
        if let refusal { return finish(.refused(refusal)) }
        return attempt(0)
    }

    /// Continues with the driver's answer to the last `set`. Without one the result does not change.
    package mutating func answered(_ answer: Answer) -> Action {
        switch state {
        case .idle: return start()
        case .over(let action): return action
        case .trying(let index):
            guard let settings = Self.settings(answer) else { return attempt(index + 1) }
            if keepsPromise(settings, choices[index]) { return finish(.reached(settings)) }
            others.append((index, settings))
            return attempt(index + 1)
        case .settling:
            guard let settings = Self.settings(answer) else { return refuse() }
            return finish(.reached(settings))
        }
    }

    private mutating func attempt(_ index: Int) -> Action {
        guard index < choices.count, index < Self.mostAttempts else { return settle(after: index - 1) }
        state = .trying(index)
        return .set(choices[index])
    }

    /// Takes the best of the answers. The last choice is still set in the driver.
    private mutating func settle(after last: Int) -> Action {
        let scored = others.map { ($0, CaptureScore($0.settings.format, $0.settings.size, $0.settings.rate, request)) }
        guard let best = scored.min(by: { ($0.1, $0.0.index) < ($1.1, $1.0.index) })?.0 else { return refuse() }
        if best.index == last { return finish(.reached(best.settings)) }
        state = .settling(best.index)
        return .set(choices[best.index])
    }

    private mutating func refuse() -> Action {
        finish(.refused(.noneAccepted(tried: min(choices.count, Self.mostAttempts))))
    }

    private mutating func finish(_ action: Action) -> Action {
        state = .over(action)
        return action
    }

    private static func settings(_ answer: Answer) -> CaptureSettings? {
        guard case .set(let format, let width, let height, let interval) = answer, format.rank != nil,
            let size = FrameSize(Int(width), Int(height))
        else { return nil }
        return CaptureSettings(format, size, interval?.rate)
    }

    /// Whether size and rate are those that the driver enumerated. Any usable format serves.
    private func keepsPromise(_ settings: CaptureSettings, _ choice: CaptureChoice) -> Bool {
        guard settings.size == choice.size else { return false }
        guard let promised = choice.interval?.rate, let reached = settings.rate else { return true }
        return reached.holds(promised)
    }
}
