import BluetoothTypes
import HeadsetPolicy
import Testing

@Suite struct PressRecogniserTests {
    private let start = Instant(nanoseconds: 1_000_000_000)
    private let here = BluetoothAddress(value: 1)
    private let there = BluetoothAddress(value: 2)

    private func press(_ key: ButtonKey, _ press: ButtonPress, _ address: BluetoothAddress? = nil)
        -> PressRecogniser.Press
    {
        PressRecogniser.Press(address ?? here, key, press)
    }

    @Test func `A key without a function for double presses is short at once, however often`() {
        var presses = PressRecogniser(doubles: [.next])
        for _ in 0..<3 {
            #expect(presses.pressed(.play, at: here, now: start) == [press(.play, .short)])
            #expect(presses.deadline == nil)
        }
    }

    @Test func `Two presses within the time are a double press, later ones are two short ones`() {
        var presses = PressRecogniser(doubles: [.play])
        let last = start.advanced(by: PressRecogniser.doubleInterval - .milliseconds(1))
        #expect(presses.pressed(.play, at: here, now: start).isEmpty)
        #expect(presses.deadline == start.advanced(by: PressRecogniser.doubleInterval))
        #expect(presses.deadlineReached(at: last).isEmpty)
        #expect(presses.pressed(.play, at: here, now: last) == [press(.play, .double)])
        #expect(presses.deadline == nil)
        // A third press starts a new wait.
        #expect(presses.pressed(.play, at: here, now: last).isEmpty)
        let late = last.advanced(by: PressRecogniser.doubleInterval)
        #expect(presses.pressed(.play, at: here, now: late) == [press(.play, .short)])
        #expect(presses.deadlineReached(at: late.advanced(by: .seconds(1))) == [press(.play, .short)])
        #expect(presses.deadlineReached(at: late.advanced(by: .seconds(2))).isEmpty)
    }

    @Test func `Another key, another headset or a long press ends the wait, and nothing is lost`() {
        var presses = PressRecogniser(doubles: [.play, .callKey])
        #expect(presses.pressed(.play, at: here, now: start).isEmpty)
        #expect(presses.pressed(.next, at: here, now: start) == [press(.play, .short), press(.next, .short)])
        #expect(presses.pressed(.play, at: here, now: start).isEmpty)
        #expect(presses.pressed(.play, at: there, now: start) == [press(.play, .short)])
        #expect(
            presses.held(.callKey, at: here, now: start) == [press(.play, .short, there), press(.callKey, .long)])
        #expect(presses.deadline == nil)
    }
}
