import Foundation
import Synchronization

/// Work of a test in a thread of its own.
package final class TestThread: Sendable {
    private let finished = DispatchSemaphore(value: 0)
    private let stop = Atomic<Bool>(false)

    /// - Parameter work: returns soon once its argument says so.
    package init(_ work: @escaping @Sendable (_ isStopped: () -> Bool) -> Void) {
        Thread.detachNewThread { [self] in
            work { stop.load(ordering: .relaxed) }
            finished.signal()
        }
    }

    /// Waits until the work is done.
    package func join() { finished.wait() }

    /// Stops the work, and waits.
    package func end() {
        stop.store(true, ordering: .relaxed)
        join()
    }
}
