import Testing

@testable import ControlLoop

@ControlPlane
struct SignalTests {
    @ControlPlane
    private final class Listener {
        var heard: [Int] = []
        func received(_ number: Int) { heard.append(number) }
    }

    @Test func `all subscribers are called, in the order in which they subscribed`() {
        let signal = Signal<Int>()
        var course: [String] = []
        for name in ["a", "b", "c"] { signal.subscribe { course.append("\(name)\($0)") } }
        signal.send(1)
        signal.send(2)
        #expect(course == ["a1", "b1", "c1", "a2", "b2", "c2"])
    }

    @Test func `a signal without subscribers may be sent`() {
        Signal<Int>().send(1)
        Signal<Void>().send()
    }

    @Test func `a subscriber added during an event receives the next one first`() {
        let signal = Signal<Int>()
        var course: [String] = []
        var hasSubscribed = false
        signal.subscribe { number in
            course.append("a\(number)")
            guard !hasSubscribed else { return }
            hasSubscribed = true
            signal.subscribe { course.append("b\($0)") }
        }
        signal.send(1)
        signal.send(2)
        #expect(course == ["a1", "a2", "b2"])
    }

    @Test func `a cancelled subscriber receives nothing more, not even the present event`() {
        let signal = Signal<Int>()
        var course: [String] = []
        var second: Signal<Int>.Subscription?
        signal.subscribe { number in
            course.append("a\(number)")
            second?.cancel()
        }
        second = signal.subscribe { course.append("b\($0)") }
        signal.subscribe { course.append("c\($0)") }
        signal.send(1)
        #expect(course == ["a1", "c1"])
        #expect(signal.subscriberCount == 2)
        second?.cancel()
        signal.send(2)
        #expect(course == ["a1", "c1", "a2", "c2"])
    }

    @Test func `a subscriber may cancel itself when it is called`() {
        let signal = Signal<Int>()
        var heard: [Int] = []
        var subscription: Signal<Int>.Subscription?
        subscription = signal.subscribe { number in
            heard.append(number)
            subscription?.cancel()
        }
        signal.send(1)
        signal.send(2)
        #expect(heard == [1])
        #expect(signal.subscriberCount == 0)
    }

    @Test func `an owner is not retained, and receives nothing once it has gone`() {
        let signal = Signal<Int>()
        var listener: Listener? = Listener()
        weak var kept: Listener?
        kept = listener
        var calls = 0
        if let listener {
            signal.subscribe(listener) { listener, number in
                calls += 1
                listener.received(number)
            }
        }
        signal.send(1)
        #expect(kept?.heard == [1])
        listener = nil
        #expect(kept == nil)
        signal.send(2)
        #expect(calls == 1)
        #expect(signal.subscriberCount == 0)
    }

    @Test func `an event caused by a subscriber reaches all before the first event continues`() {
        let signal = Signal<Int>()
        var course: [String] = []
        signal.subscribe { number in
            course.append("a\(number)")
            if number == 1 { signal.send(2) }
        }
        signal.subscribe { course.append("b\($0)") }
        signal.send(1)
        #expect(course == ["a1", "a2", "b2", "b1"])
    }

    @Test func `a signal without a value has owners as well`() {
        let signal = Signal<Void>()
        let listener = Listener()
        signal.subscribe(listener) { $0.received(7) }
        signal.send()
        #expect(listener.heard == [7])
    }
}
