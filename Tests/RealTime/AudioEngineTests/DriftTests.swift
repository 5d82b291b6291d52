import AudioDSP
import CALSA
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// Detects steps in a tone: samples that their neighbours do not predict.
private struct ClickDetector {
    /// A sample more, less or off by that much exceeds rounding and the filter.
    static let threshold = 12.0

    private let factor: Double
    private let quiet: Int
    private var last = 0.0
    private var before = 0.0
    /// Frames since the tone began.
    private var frames = 0
    private(set) var clicks = 0
    private(set) var worst = 0.0

    init(hertz: Double, rate: Int) {
        factor = 2 * cos(2 * .pi * hertz / Double(rate))
        quiet = rate / 20
    }

    mutating func add(_ sample: Int16) {
        let value = Double(sample)
        if frames == 0 && sample == 0 { return }
        frames += 1
        if frames > quiet {
            let step = abs(value - factor * last + before)
            if step > worst { worst = step }
            if step > Self.threshold { clicks += 1 }
        }
        before = last
        last = value
    }
}

/// A call to a card whose clock is wrong, on a virtual clock: the port that the daemon uses, alsa-lib, and behind it a
/// simulated card.
private struct DriftCourse {
    struct Result {
        /// Maximum difference of the card's true queue from its target at a block, in milliseconds.
        var worstQueue = 0.0
        /// Maximum lateness or earliness of the tone, measured once a second, in milliseconds.
        var worstDelay = 0.0
        var clicks = 0
        var worstStep = 0.0
        var xruns = 0
        var dropped = 0
        var reportedPPM = 0.0
    }

    /// A deliberate error in the card's playback.
    enum Mistake { case lost, repeated, hole }

    /// A whole number of frames at every rate; longer than twice the allowed change of the delay.
    static let hertz = 50.0
    static let queueMilliseconds = 50

    var busRate = 16_000
    var cardRate = 48_000
    var ppm: Double
    var seconds: Int
    /// Maximum lateness of the thread.
    var latenessMicroseconds = 500
    var grainMilliseconds = 1
    var isSteered = true
    var mistake: Mistake?

    func run() throws -> Result {
        var result = Result()
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, rate: cardRate)
        card.ppm = ppm
        card.grain = max(1, cardRate * grainMilliseconds / 1000)
        let bench = PathBench(playback: card, busRate: busRate, queueMilliseconds: Self.queueMilliseconds)
        var listener = Listener(self, delayFrames: AdaptiveResampler(from: busRate, to: cardRate).delayFrames)
        card.onPlayed = { samples, frames in
            listener.add(samples.assumingMemoryBound(to: Int16.self), frames, card)
        }
        let period = busRate / Int(Self.hertz)
        let tone = (0..<(2 * period)).map { index in
            Int16((16_000 * sin(2 * .pi * Double(index) / Double(period))).rounded())
        }
        var random = Lateness(seed: 1)
        #expect(bench.start(now: 0) == 0)
        for block in 0..<(seconds * 100) {
            let due = Int64(block + 1) * 10_000_000
            card.now = due + Int64(random.next(latenessMicroseconds)) * 1000
            let code = tone.withUnsafeBufferPointer { samples -> Int in
                guard let start = samples.baseAddress else { return -1 }
                return bench.play(start + block * (busRate / 100) % period, now: card.now, steer: isSteered)
            }
            if code != 0 { throw SimulatedCard.Failure(call: "flush", code: Int32(code)) }
            let queued = Double(card.moved) - card.passed(at: due) + Double(bench.queuedInRing)
            let off = queued * 1000 / Double(cardRate) - Double(Self.queueMilliseconds)
            result.worstQueue = max(result.worstQueue, abs(off))
        }
        result.worstDelay = listener.worstDelay
        result.clicks = listener.detector.clicks
        result.worstStep = listener.detector.worst
        result.xruns = card.xruns
        let counters = bench.counters.pointee.snapshot(id: 1, isLink: false)
        result.dropped = counters.overrunFrames
        result.reportedPPM = counters.driftPPM
        return result
    }

    /// Receives the card's playback.
    private struct Listener {
        var detector: ClickDetector
        var worstDelay = 0.0
        private let mistake: Mistake?
        private let rate: Int
        private let windowFrames: Int
        private let expected: Double
        private var frame = 0
        private var real = 0.0
        private var imaginary = 0.0

        init(_ course: DriftCourse, delayFrames: Int) {
            detector = ClickDetector(hertz: DriftCourse.hertz, rate: course.cardRate)
            mistake = course.mistake
            rate = course.cardRate
            windowFrames = rate / Int(DriftCourse.hertz)
            // A block is given 10 ms after its beginning, followed by the queue, half a grain less than reported.
            expected =
                0.01 + (Double(DriftCourse.queueMilliseconds) - 10) / 1000 + Double(delayFrames)
                / Double(course.cardRate)
        }

        mutating func add(_ samples: UnsafePointer<Int16>, _ frames: Int, _ card: SimulatedCard) {
            for index in 0..<frames {
                let sample = samples[index]
                frame += 1
                // In the middle of a later second.
                if let mistake, frame >= 3 * rate + rate / 2 + 77, frame < 3 * rate + rate / 2 + 77 + mistake.frames {
                    switch mistake {
                    case .lost: continue
                    case .repeated: detector.add(sample)
                    case .hole:
                        detector.add(0)
                        continue
                    }
                }
                detector.add(sample)
                let place = (frame - 1) % rate
                // Before the first second the queue is silence.
                if place < windowFrames && frame > rate { listen(sample, place, card) }
            }
        }

        /// Phase of one period of the tone, at the playback times of its samples.
        private mutating func listen(_ sample: Int16, _ place: Int, _ card: SimulatedCard) {
            let time = Double(frame - 1) / (Double(rate) * (1 + card.ppm * 1e-6))
            let angle = 2 * .pi * DriftCourse.hertz * time
            real += Double(sample) * cos(angle)
            imaginary += Double(sample) * sin(angle)
            guard place == windowFrames - 1 else { return }
            let period = 1 / DriftCourse.hertz
            let delay = atan2(-real, imaginary) / (2 * .pi * DriftCourse.hertz)
            let off = (delay - expected).remainder(dividingBy: period)
            worstDelay = max(worstDelay, abs(off) * 1000)
            (real, imaginary) = (0, 0)
        }
    }
}

extension DriftCourse.Mistake {
    fileprivate var frames: Int {
        switch self {
        case .lost, .repeated: 1
        case .hole: 16
        }
    }
}

/// Numbers without a pattern, the same in every run.
private struct Lateness {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next(_ limit: Int) -> Int {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Int(state >> 33) % (limit + 1)
    }
}

struct DriftTests {
    /// With `BTCALL_SOAK` all tests run at the rates of a usual card, for an hour.
    private static let isLong = ProcessInfo.processInfo.environment["BTCALL_SOAK"] != nil

    private func check(_ course: DriftCourse, within milliseconds: Double) throws {
        let result = try course.run()
        #expect(result.clicks == 0 && result.xruns == 0 && result.dropped == 0, "\(result)")
        #expect(result.worstQueue < milliseconds && result.worstDelay < milliseconds, "\(result)")
        #expect(abs(result.reportedPPM - course.ppm) < 100, "\(result)")
    }

    @Test(arguments: [300.0, -300])
    func `an hour with a card that is too fast or too slow: no click, and the delay stays within 2 ms`(
        ppm: Double
    ) throws {
        var course = DriftCourse(ppm: ppm, seconds: 3_600)
        if !Self.isLong { (course.busRate, course.cardRate) = (8_000, 8_000) }
        try check(course, within: 2)
    }

    @Test(arguments: [500.0, -500, 300, -300, 20])
    func `a usual card that is up to 500 ppm off is learnt without a click, and the delay stays within 2 ms`(
        ppm: Double
    ) throws {
        try check(DriftCourse(ppm: ppm, seconds: Self.isLong ? 3_600 : 90), within: 2)
    }

    @Test(arguments: [300.0, -300])
    func `a thread that looks up to 8 ms late is not mistaken for drift`(ppm: Double) throws {
        try check(DriftCourse(ppm: ppm, seconds: Self.isLong ? 3_600 : 90, latenessMicroseconds: 8_000), within: 2)
    }

    @Test(arguments: [500.0, -500])
    func `a card that reports whole periods only fluctuates within a period, without a click`(ppm: Double) throws {
        let result = try DriftCourse(ppm: ppm, seconds: Self.isLong ? 3_600 : 90, grainMilliseconds: 10).run()
        #expect(result.clicks == 0 && result.xruns == 0 && result.dropped == 0, "\(result)")
        #expect(result.worstQueue < 12, "\(result)")
    }

    @Test(arguments: [DriftCourse.Mistake.lost, .repeated, .hole])
    fileprivate func `a lost, repeated or silent sample would be found`(mistake: DriftCourse.Mistake) throws {
        for rate in [8_000, 48_000] {
            let course = DriftCourse(busRate: 8_000, cardRate: rate, ppm: 300, seconds: 6, mistake: mistake)
            let result = try course.run()
            #expect(result.clicks > 0 && result.worstStep > 4 * ClickDetector.threshold, "\(rate) Hz: \(result)")
        }
    }

    @Test(arguments: [300.0, -300])
    func `without correction the delay would visibly change`(ppm: Double) throws {
        let course = DriftCourse(busRate: 8_000, cardRate: 8_000, ppm: ppm, seconds: 20, isSteered: false)
        let result = try course.run()
        // 300 ppm in 20 s are 6 ms.
        #expect(abs(result.worstQueue - 6) < 1 && abs(result.worstDelay - 6) < 1, "\(result)")
    }
}
