import Glibc

/// Cost of one stage of the audio path for 10 ms of a call.
package struct StageCost: Equatable, Sendable {
    /// One of the names in Tests/Benchmarks/audio-limits.
    package let name: String
    /// Processor time of the thread in microseconds, in the shortest series.
    package let microseconds: Double
    /// Allocations in the series; nil when they are not counted.
    package let allocations: Int?

    package init(name: String, microseconds: Double, allocations: Int?) {
        self.name = name
        self.microseconds = microseconds
        self.allocations = allocations
    }

    /// Runs `body` `runs` times in each series; each run stands for `milliseconds` of audio.
    static func measure(_ name: String, runs: Int, milliseconds: Double, _ body: () -> Void) -> StageCost {
        // Warms up: one-time allocations are not counted, and caches are filled.
        for _ in 0..<min(runs, 200) { body() }
        var best = Double.infinity
        let before = AllocationCounter.count
        for _ in 0..<repetitions {
            let start = processorTime()
            for _ in 0..<runs { body() }
            best = min(best, processorTime() - start)
        }
        let allocations = before.flatMap { before in AllocationCounter.count.map { $0 - before } }
        return StageCost(
            name: name, microseconds: best * 1e6 / Double(runs) * 10 / milliseconds, allocations: allocations)
    }

    private static let repetitions = 7

    private static func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
