import AudioDSP
import CALSA
import CBTCall
import Dispatch
import Foundation
import Testing

@testable import AudioEngine

/// A thread without real-time priority, and the underruns and overruns that this causes.
struct DegradedTests {
    @Test(arguments: [50, 100])
    func `an underrun of a card is counted once, filled to its target and played on`(queueMilliseconds: Int) throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
        let bench = PathBench(playback: card, queueMilliseconds: queueMilliseconds)
        let block = [Int16](repeating: 1_000, count: 160)
        #expect(bench.start(now: 0) == 0)
        // A stall of 10 ms less than the queue is not noticed, one of 10 ms more is.
        card.now = Int64(queueMilliseconds - 10) * 1_000_000
        #expect(bench.play(block, now: card.now) == 0)
        #expect(bench.counters.pointee.playbackXruns.read() == 0)
        card.now += Int64(queueMilliseconds + 10) * 1_000_000
        #expect(bench.play(block, now: card.now) == 0)
        #expect(bench.counters.pointee.playbackXruns.read() == 1 && card.xruns == 1)
        let queued = Double(card.moved) - card.passed(at: card.now)
        #expect(abs(queued / 48 - Double(queueMilliseconds + 10)) < 1.5, "\(queued / 48) ms")
        for _ in 0..<20 {
            card.now += 10_000_000
            #expect(bench.play(block, now: card.now) == 0)
        }
        #expect(bench.counters.pointee.playbackXruns.read() == 1)
    }

    @Test func `an overrun of a microphone is counted once and recording continues`() throws {
        let card = try SimulatedCard(SND_PCM_STREAM_CAPTURE)
        let bench = PathBench(playback: nil, capture: card)
        #expect(bench.start(now: 0) == 0)
        card.now = 10_000_000
        #expect(bench.path.pointee.read(now: card.now, bench.counters) == 480)
        card.now += 300_000_000
        #expect(bench.path.pointee.read(now: card.now, bench.counters) == 0)
        #expect(bench.counters.pointee.captureXruns.read() == 1)
        card.now += 10_000_000
        #expect(bench.path.pointee.read(now: card.now, bench.counters) == 480)
        #expect(bench.counters.pointee.captureXruns.read() == 1)
    }

    @Test func `a long queue that time has passed over is refilled as a whole`() throws {
        let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
        let bench = PathBench(playback: card, queueMilliseconds: 100)
        #expect(bench.start(now: 0) == 0)
        card.now = 95_000_000
        #expect(bench.play([Int16](repeating: 1_000, count: 160), now: card.now) == 0)
        let queued = (Double(card.moved) - card.passed(at: card.now)) / 48
        #expect(abs(queued - 100) < 1.5, "\(queued) ms")
    }
}

extension RealtimeTests {
    @Suite struct WithoutPriority {
        private static let priority = Duration.milliseconds(50)
        private static let none = Duration.milliseconds(100)

        @Test func `a thread that the kernel refuses real-time priority keeps cards fuller`() throws {
            let queue = try withoutPermission { try EngineBench().engine }
            #expect(!queue.isRealtime && queue.playbackQueue == Self.none)
        }

        @Test(.enabled(if: mayBeRealtime, "this process may not have real-time priority"))
        func `with real-time priority the queue is the short one`() throws {
            let engine = try EngineBench().engine
            #expect(engine.isRealtime && engine.playbackQueue == Self.priority)
        }

        @Test func `the first queue of a card is the longer one`() throws {
            let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK)
            let bench = try EngineBench { $0.realtimePriority = 0 }
            try bench.engine.addTerminal(1, .path(streams(card)))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            // Its clock stands still: the queue never empties, and the rest is dropped after its time.
            let start = btcall_monotonic_nanoseconds()
            bench.engine.removeTerminal(1)
            #expect(bench.wait { $0 == .terminalRemoved(1) } != nil)
            #expect(btcall_monotonic_nanoseconds() - start >= 145_000_000)
            bench.engine.stop()
            #expect(card.moved >= 4_800)
        }

        @Test func `a card without room for the longer queue is filled as far as possible`() throws {
            let card = try SimulatedCard(SND_PCM_STREAM_PLAYBACK, bufferMilliseconds: 80)
            let bench = try EngineBench { $0.realtimePriority = 0 }
            try bench.engine.addTerminal(1, .path(streams(card)))
            bench.engine.route(to: 1)
            #expect(bench.wait { isRouted($0, 1) } != nil)
            bench.engine.stop()
            #expect(card.moved >= 60 * 48 && card.moved <= 80 * 48)
        }

        private func streams(_ card: SimulatedCard) -> ALSAPath {
            ALSAPath(playback: card.pcm, playbackRate: card.rate, playbackBufferFrames: card.bufferFrames)
        }

        /// Runs `body` on a separate thread without CAP_SYS_NICE and with a limit of 0 for real-time priorities.
        private func withoutPermission(_ body: @escaping @Sendable () throws -> AudioEngine) throws -> AudioEngine {
            var limit = rlimit()
            try #require(getrlimit(__rlimit_resource_t(__RLIMIT_RTPRIO.rawValue), &limit) == 0)
            var none = rlimit(rlim_cur: 0, rlim_max: limit.rlim_max)
            try #require(setrlimit(__rlimit_resource_t(__RLIMIT_RTPRIO.rawValue), &none) == 0)
            defer { _ = setrlimit(__rlimit_resource_t(__RLIMIT_RTPRIO.rawValue), &limit) }
            let box = ResultBox()
            let thread = Thread {
                box.result = Result {
                    try dropPriorityCapability()
                    return try body()
                }
                box.done.signal()
            }
            thread.start()
            box.done.wait()
            return try #require(box.result).get()
        }
    }
}

/// Whether this process may have real-time priority at all.
private let mayBeRealtime = (try? EngineBench())?.engine.isRealtime ?? false

private final class ResultBox: @unchecked Sendable {
    let done = DispatchSemaphore(value: 0)
    var result: Result<AudioEngine, any Error>?
}

private struct CapabilityError: Error {
    let call: String
    let code: Int32
}

/// Capabilities belong to the thread, and glibc exports the calls without declaring them: version 3, two words of each set.
private func dropPriorityCapability() throws {
    typealias Call = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> Int32
    guard let get = dlsym(nil, "capget"), let set = dlsym(nil, "capset") else {
        throw CapabilityError(call: "dlsym", code: ENOSYS)
    }
    var header: [UInt32] = [0x2008_0522, 0]
    var sets = [UInt32](repeating: 0, count: 6)
    guard unsafeBitCast(get, to: Call.self)(&header, &sets) == 0 else {
        throw CapabilityError(call: "capget", code: errno)
    }
    // Effective, of the first 32: CAP_SYS_NICE.
    sets[0] &= ~(1 << 23)
    guard unsafeBitCast(set, to: Call.self)(&header, &sets) == 0 else {
        throw CapabilityError(call: "capset", code: errno)
    }
}
