import Synchronization
import TestSupport
import Testing

/// The second chance of a test whose machine stood still.
@Suite struct OnceMoreAfterStallTests {
    private final class Counter: Sendable {
        private let number = Atomic<Int>(0)

        /// The number of this call.
        func next() -> Int { number.add(1, ordering: .relaxed).newValue }
        var count: Int { number.load(ordering: .relaxed) }
    }

    /// Runs a test that fails the first times; returns how many times it was run.
    private func runs(hasStalled: Bool, failures: Int) async throws -> Int {
        let counter = Counter()
        let trait = OnceMoreAfterStall(milliseconds: 60_000, hasStalled: hasStalled)
        try await trait.provideScope(for: try #require(Test.current), testCase: nil) {
            if counter.next() <= failures { Issue.record("run \(counter.count) of the test failed") }
        }
        return counter.count
    }

    @Test func `a test that does not fail runs once, also where the machine stood still`() async throws {
        #expect(try await runs(hasStalled: false, failures: 0) == 1)
        #expect(try await runs(hasStalled: true, failures: 0) == 1)
    }

    @Test func `a failure where the machine stood still is a known issue, and the test runs again`() async throws {
        #expect(try await runs(hasStalled: true, failures: 1) == 2)
        #expect(try await runs(hasStalled: true, failures: 2) == 3)
    }

    @Test func `the third failure counts, and the first one where the machine did not stand still`() async throws {
        for (hasStalled, expected) in [(true, 3), (false, 1)] {
            var count = 0
            await withKnownIssue("it is to fail") { count = try await runs(hasStalled: hasStalled, failures: 9) }
            #expect(count == expected)
        }
    }
}
