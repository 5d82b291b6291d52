import CBTCall
import Foundation
import Synchronization
package import Testing

/// Runs a test that failed on a machine that stood still once more, and then a last time; what failed before is a known issue.
///
/// The last run counts, whatever the machine does.
package struct OnceMoreAfterStall: TestTrait, SuiteTrait, TestScoping {
    private let milliseconds: Int64
    private let hasStalled: Bool

    /// - Parameters:
    ///   - milliseconds: a thread without a processor for longer has seen the machine stand still.
    ///   - hasStalled: the machine stood still before each run.
    package init(milliseconds: Int64, hasStalled: Bool = false) {
        self.milliseconds = milliseconds
        self.hasStalled = hasStalled
    }

    package var isRecursive: Bool { true }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for _ in 1...2 {
            let watch = StallWatch(milliseconds, hasStalled)
            defer { watch.end() }
            try await withKnownIssue("the machine stood still", isIntermittent: true) {
                try await function()
            } matching: { _ in
                watch.excuses()
            }
            guard watch.hasExcused else { return }
        }
        try await function()
    }
}

extension Trait where Self == OnceMoreAfterStall {
    /// - Parameter milliseconds: a time without a processor that the tests stand.
    package static func onceMoreAfterStall(milliseconds: Int64) -> Self { Self(milliseconds: milliseconds) }
}

/// A thread that notices when it gets no processor.
private final class StallWatch: Sendable {
    private let limit: Int64
    private let seen: Atomic<Int64>
    private let hasStalled: Atomic<Bool>
    private let isOver = Atomic<Bool>(false)
    private let excused = Atomic<Bool>(false)

    init(_ milliseconds: Int64, _ hasStalled: Bool) {
        limit = milliseconds * 1_000_000
        seen = Atomic(btcall_monotonic_nanoseconds())
        self.hasStalled = Atomic(hasStalled)
        Thread.detachNewThread { [self] in
            while !isOver.load(ordering: .relaxed) {
                look()
                usleep(UInt32(limit / 4_000))
            }
        }
    }

    func end() { isOver.store(true, ordering: .relaxed) }

    private func look() {
        let now = btcall_monotonic_nanoseconds()
        if now - seen.exchange(now, ordering: .relaxed) > limit { hasStalled.store(true, ordering: .relaxed) }
    }

    /// Whether a failure at this moment is the machine's.
    func excuses() -> Bool {
        // The thread may be late still.
        let now = btcall_monotonic_nanoseconds()
        guard hasStalled.load(ordering: .relaxed) || now - seen.load(ordering: .relaxed) > limit else { return false }
        excused.store(true, ordering: .relaxed)
        return true
    }

    var hasExcused: Bool { excused.load(ordering: .relaxed) }
}
