import BluetoothTypes
import TestSupport
import Testing

@testable import ControlLoop

@ControlPlane
struct TimerQueueTests {
    private func timer(_ milliseconds: Int64, _ order: UInt64) -> Timer {
        Timer(deadline: Instant(milliseconds: milliseconds), order: order, loop: nil) {}
    }

    @Test func `timers come out by deadline, equal ones in the order of scheduling`() {
        var queue = TimerQueue()
        for (order, deadline) in [30, 10, 20, 10, 30].enumerated() {
            queue.insert(timer(Int64(deadline), UInt64(order)))
        }
        var orders: [UInt64] = []
        while let timer = queue.popDue(at: Instant(milliseconds: 30)) { orders.append(timer.order) }
        #expect(orders == [1, 3, 2, 0, 4])
    }

    @Test func `a timer that is not due stays in the queue`() {
        var queue = TimerQueue()
        let timer = timer(10, 0)
        queue.insert(timer)
        #expect(queue.popDue(at: Instant(milliseconds: 9)) == nil)
        #expect(timer.isPending)
        #expect(queue.popDue(at: Instant(milliseconds: 10)) === timer)
        #expect(!timer.isPending)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `random insertions and removals leave exactly the rest, in order`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = TimerQueue()
        var kept: [Timer] = []
        for order in 0..<500 {
            if Int.random(in: 0..<3, using: &random) == 0, let index = kept.indices.randomElement(using: &random) {
                queue.remove(kept.remove(at: index))
            } else {
                let timer = timer(Int64.random(in: 0..<50, using: &random), UInt64(order))
                kept.append(timer)
                queue.insert(timer)
            }
        }
        kept.sort { $0.deadline == $1.deadline ? $0.order < $1.order : $0.deadline < $1.deadline }
        #expect(queue.count == kept.count)
        for expected in kept { #expect(queue.popDue(at: Instant(milliseconds: 50)) === expected) }
        #expect(queue.first == nil)
    }

    @Test func `removing twice, or one that was never in, does nothing`() {
        var queue = TimerQueue()
        let (first, second) = (timer(1, 0), timer(2, 1))
        queue.insert(first)
        queue.remove(first)
        queue.remove(first)
        queue.remove(second)
        #expect(queue.first == nil)
    }
}
