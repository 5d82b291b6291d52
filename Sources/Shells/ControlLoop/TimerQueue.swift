package import BluetoothTypes

/// One pending call of a handler. It fires once; dropping the reference does not cancel it.
@ControlPlane
package final class Timer {
    package let deadline: Instant
    /// Order of scheduling, for timers with the same deadline.
    let order: UInt64
    /// The position in the heap; negative once fired or cancelled.
    fileprivate(set) var index = -1
    private var handler: (@ControlPlane () -> Void)?
    private let loop: ControlLoop?

    init(deadline: Instant, order: UInt64, loop: ControlLoop?, _ handler: @escaping @ControlPlane () -> Void) {
        self.deadline = deadline
        self.order = order
        self.loop = loop
        self.handler = handler
    }

    package var isPending: Bool { index >= 0 }

    /// Cancels the call; does nothing if the timer has fired.
    package func cancel() {
        handler = nil
        loop?.remove(self)
    }

    func fire() {
        let fired = handler
        handler = nil
        fired?()
    }

    fileprivate func precedes(_ other: Timer) -> Bool {
        deadline == other.deadline ? order < other.order : deadline < other.deadline
    }
}

/// A binary heap of timers, earliest first. It knows each timer's position, so cancelling is logarithmic as well, and a
/// timeout that did not happen never wakes the processor.
@ControlPlane
struct TimerQueue {
    private var heap: [Timer] = []

    nonisolated init() {}

    var first: Timer? { heap.first }
    var count: Int { heap.count }

    mutating func insert(_ timer: Timer) {
        heap.append(timer)
        timer.index = heap.count - 1
        rise(from: heap.count - 1)
    }

    mutating func remove(_ timer: Timer) {
        let index = timer.index
        guard index >= 0, index < heap.count, heap[index] === timer else { return }
        timer.index = -1
        let last = heap.removeLast()
        guard last !== timer else { return }
        heap[index] = last
        last.index = index
        rise(from: index)
        sink(from: last.index)
    }

    /// Takes the first timer out if its deadline is not after `now`.
    mutating func popDue(at now: Instant) -> Timer? {
        guard let timer = heap.first, timer.deadline <= now else { return nil }
        remove(timer)
        return timer
    }

    private mutating func rise(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard heap[child].precedes(heap[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func sink(from start: Int) {
        var parent = start
        while true {
            var earliest = parent
            for child in [2 * parent + 1, 2 * parent + 2]
            where child < heap.count && heap[child].precedes(heap[earliest]) {
                earliest = child
            }
            if earliest == parent { return }
            exchange(parent, earliest)
            parent = earliest
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        heap.swapAt(left, right)
        heap[left].index = left
        heap[right].index = right
    }
}
