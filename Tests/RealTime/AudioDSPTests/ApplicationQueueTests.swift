import TestSupport
import Testing

@testable import AudioDSP

/// A call whose ticks come every 10 ms, and its application. Times are in microseconds.
private struct Course {
    var queue = ApplicationQueue(most: 6)
    /// False: always as many blocks as at the beginning.
    let adapts: Bool
    /// Time that the application takes for the answer to a block, by the block's number.
    let delay: (Int) -> Int
    /// Loudness of an answer, by its number.
    let peak: (Int) -> Int
    private var sent = 0
    private var time = 0
    private var lastArrival = 0
    private var coming: [(number: Int, arrival: Int)] = []
    private var waiting: [(number: Int, arrival: Int)] = []
    private(set) var played: [Int] = []
    private(set) var skipped: [Int] = []
    private(set) var dropped = 0
    private(set) var missing = 0
    private(set) var longest = 0

    init(adapts: Bool = true, delay: @escaping (Int) -> Int, peak: @escaping (Int) -> Int = { _ in 0 }) {
        self.adapts = adapts
        self.delay = delay
        self.peak = peak
        for _ in 0..<ApplicationQueue.firstBlocks { send() }
        time = lastArrival
    }

    /// Number of the block that the next tick sends.
    var next: Int { sent }
    /// Length of the queue.
    var blocks: Int { waiting.count + coming.count }

    private mutating func send() {
        lastArrival = max(lastArrival, time + delay(sent))
        coming.append((sent, lastArrival))
        sent += 1
    }

    private mutating func receive() {
        while let first = coming.first, first.arrival <= time {
            waiting.append(coming.removeFirst())
            if waiting.count > 6 {
                waiting.removeFirst()
                dropped += 1
            }
        }
    }

    mutating func run(ticks: Int) {
        for _ in 0..<ticks {
            time += 10_000
            receive()
            longest = max(longest, blocks)
            let fresh = waiting.count { time - $0.arrival < 1_000 }
            queue.note(waiting: waiting.count, unanswered: coming.count, fresh: fresh, isFair: true)
            take()
            send()
        }
    }

    private mutating func take() {
        guard let first = waiting.first else {
            missing += 1
            return
        }
        var step = ApplicationQueue.Step.play
        if adapts && queue.isOff {
            step = queue.step(peak: peak(first.number), next: waiting.count > 1 ? peak(waiting[1].number) : -1)
        }
        played.append(first.number)
        switch step {
        case .play: waiting.removeFirst()
        case .again: break
        case .skip:
            skipped.append(waiting.remove(at: 1).number)
            waiting.removeFirst()
        }
    }
}

struct ApplicationQueueTests {
    /// Answers of one delay in milliseconds, and the length that they need: a block for each 10 ms begun, and one more where
    /// they come less than a millisecond before their tick.
    private static let lengths: [(Double, Int)] = [
        (0, 1), (1, 1), (8, 1), (9.5, 2), (12, 2), (19.5, 3), (25, 3), (29.5, 4), (45, 5), (58, 6), (200, 6),
    ]

    @Test(arguments: lengths)
    func `the queue becomes as long as the answers need`(milliseconds: Double, blocks: Int) {
        var course = Course(delay: { _ in Int(milliseconds * 1_000) })
        course.run(ticks: 2_000)
        #expect(course.queue.wanted == blocks)
        // An application that is 200 ms behind has more blocks on their way than can wait here.
        if milliseconds < 60 { #expect(course.blocks == blocks) }
        #expect(course.dropped == 0)
    }

    @Test func `an application that answers two blocks at a time needs two`() {
        // Blocks with odd numbers are answered at once, the ones before them together with them.
        var course = Course(delay: { $0 % 2 == 0 ? 10_500 : 500 })
        course.run(ticks: 2_000)
        #expect(course.queue.wanted == 2 && course.blocks == 2)
        #expect(course.missing == 0)
    }

    @Test func `a punctual call begins with three and has one after the first pause of 100 ms`() {
        var course = Course(delay: { _ in 1_000 }, peak: { $0 < 300 || $0 >= 330 ? 5_000 : 40 })
        course.run(ticks: 290)
        #expect(course.queue.wanted == 1 && course.blocks == 3)
        course.run(ticks: 30)
        #expect(course.blocks == 1 && course.skipped.count == 2)
        #expect(course.skipped.allSatisfy { (300..<330).contains($0) })
        course.run(ticks: 300)
        #expect(course.missing == 0 && course.blocks == 1)
        #expect(course.played == (0..<course.next - 1).filter { !course.skipped.contains($0) })
    }

    @Test func `the silence within a word is no pause`() {
        // 80 ms without a sound, every half second.
        var course = Course(delay: { _ in 1_000 }, peak: { $0 % 50 < 42 ? 5_000 : 0 })
        course.run(ticks: 2_000)
        #expect(course.queue.wanted == 1 && course.blocks == 3 && course.skipped == [])
    }

    @Test func `quiet is relative to the voice, and noise of a room between words is quiet`() {
        for (noise, blocks) in [(200, 1), (400, 3)] {
            var course = Course(delay: { _ in 1_000 }, peak: { $0 % 100 < 70 ? 5_000 : noise })
            course.run(ticks: 500)
            #expect(course.blocks == blocks, "\(noise)")
        }
    }

    /// The stall delays the answer to this block.
    private static let stalled = 400

    @Test func `a stall of 25 ms in speech loses nothing, and the queue is short again only after 5 s and in a pause`()
    {
        let quiet = [0..<200, 700..<720, 1_500..<1_520]
        var course = Course(
            delay: { $0 == Self.stalled ? 25_000 : 1_000 },
            peak: { number in quiet.contains { $0.contains(number) } ? 0 : 5_000 })
        course.run(ticks: Self.stalled - 10)
        #expect(course.blocks == 1 && course.missing == 0)
        course.run(ticks: 30)
        // Two blocks were made up; all of the application's are played, 20 ms later than before.
        #expect(course.missing == 2 && course.blocks == 3)
        course.run(ticks: 400)
        // A pause too soon.
        #expect(course.blocks == 3)
        course.run(ticks: 1_000)
        #expect(course.blocks == 1 && course.missing == 2 && course.dropped == 0)
        #expect(course.skipped.allSatisfy { number in quiet.contains { $0.contains(number) } })
        #expect(course.played == (0..<course.next - 1).filter { !course.skipped.contains($0) })
    }

    @Test func `an application that is late again and again is given a longer trial each time, up to two minutes`() {
        var trials: [Int] = []
        let stalls = Stalls()
        var course = Course(delay: { stalls.contains($0) ? 15_000 : 1_000 })
        course.run(ticks: 100)
        #expect(course.blocks == 1)
        for _ in 0..<7 {
            stalls.add(course.next)
            course.run(ticks: 3)
            #expect(course.blocks == 2)
            var ticks = 0
            while course.blocks == 2 && ticks < 20_000 {
                course.run(ticks: 1)
                ticks += 1
            }
            trials.append(ticks)
        }
        for (trial, half) in zip(trials, [500, 1_000, 2_000, 4_000, 6_000, 6_000, 6_000]) {
            #expect((half - 50...2 * half + 50).contains(trial), "\(trials)")
        }
    }

    @Test func `a burst of ticks says nothing about the application, an empty queue does`() {
        var queue = ApplicationQueue(most: 6)
        for _ in 0..<100 { queue.note(waiting: 1, unanswered: 0, fresh: 0, isFair: true) }
        #expect(queue.wanted == 1)
        queue.note(waiting: 1, unanswered: 3, fresh: 0, isFair: false)
        #expect(queue.wanted == 1)
        queue.note(waiting: 0, unanswered: 1, fresh: 0, isFair: false)
        #expect(queue.wanted == 2)
        queue.note(waiting: 2, unanswered: 3, fresh: 0, isFair: true)
        #expect(queue.wanted == 4)
        queue.restart()
        #expect(queue.wanted == 3 && queue.blocks == 3)
    }

    @Test(arguments: UInt64(1)...40)
    func `random lateness that three blocks bear loses no sound, and silence brings the delay back`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        // Spells of punctuality and of lateness, words and pauses.
        let ticks = 3_000
        var delays: [Int] = []
        while delays.count < ticks {
            let most = [500, 1_000, 9_000, 15_000, 29_000].randomElement(using: &random) ?? 0
            let count = Int.random(in: 5...400, using: &random)
            for _ in 0..<count { delays.append(Int.random(in: 0...most, using: &random)) }
        }
        var peaks: [Int] = []
        while peaks.count < ticks {
            peaks += Array(repeating: 5_000, count: Int.random(in: 20...300, using: &random))
            let noise = Int.random(in: 0...250, using: &random)
            peaks += Array(repeating: noise, count: Int.random(in: 2...60, using: &random))
        }
        let delay = { [delays] (number: Int) -> Int in number < ticks ? delays[number] : 500 }
        let peak = { [peaks] (number: Int) -> Int in number < ticks ? peaks[number] : 0 }

        var fixed = Course(adapts: false, delay: delay, peak: peak)
        fixed.run(ticks: ticks)
        #expect(fixed.missing == 0 && fixed.dropped == 0)

        var course = Course(delay: delay, peak: peak)
        course.run(ticks: ticks)
        #expect(course.dropped == 0 && course.longest <= 3)
        #expect(course.skipped.allSatisfy { peak($0) < 5_000 })
        // Every answer is played once and in order, but quiet ones may be left out or repeated.
        #expect(zip(course.played, course.played.dropFirst()).allSatisfy { $0 < $1 || $0 == $1 && peak($0) < 5_000 })
        #expect(Set(course.played).union(course.skipped).count == (course.played.last ?? 0) + 1)

        course.run(ticks: 2 * ApplicationQueue.mostHalfTicks + 100)
        #expect(course.blocks == 1)
    }
}

/// Numbers of the blocks whose answers are late.
private final class Stalls {
    private var numbers: Set<Int> = []

    func add(_ number: Int) { numbers.insert(number) }
    func contains(_ number: Int) -> Bool { numbers.contains(number) }
}
