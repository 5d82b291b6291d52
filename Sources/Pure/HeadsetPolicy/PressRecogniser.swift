package import BluetoothTypes

/// Tells a double press from two short ones. Headsets send presses without their length, so that a short one is known only
/// when the time for the second is over; keys whose double press means nothing do not wait for it.
package struct PressRecogniser: Equatable, Sendable {
    package struct Press: Hashable, Sendable {
        package let address: BluetoothAddress
        package let gesture: ButtonGesture

        package init(_ address: BluetoothAddress, _ key: ButtonKey, _ press: ButtonPress) {
            self.address = address
            gesture = ButtonGesture(key, press)
        }
    }

    /// From the first press to the second.
    package static let doubleInterval = Duration.milliseconds(400)

    private struct Waiting: Equatable {
        let address: BluetoothAddress
        let key: ButtonKey
        let until: Instant
    }

    private let doubles: Set<ButtonKey>
    private var waiting: Waiting?

    /// - Parameter doubles: keys whose double press is something of its own.
    package init(doubles: Set<ButtonKey>) {
        self.doubles = doubles
    }

    /// When `deadlineReached` is to be called; nil: not at all.
    package var deadline: Instant? { waiting?.until }

    /// A key was pressed, and let go.
    ///
    /// - Returns: what is known with that, in order.
    package mutating func pressed(_ key: ButtonKey, at address: BluetoothAddress, now: Instant) -> [Press] {
        var known = deadlineReached(at: now)
        if let first = waiting, first.address == address, first.key == key {
            waiting = nil
            return known + [Press(address, key, .double)]
        }
        known += flush()
        guard doubles.contains(key) else { return known + [Press(address, key, .short)] }
        waiting = Waiting(address: address, key: key, until: now.advanced(by: Self.doubleInterval))
        return known
    }

    /// The headset itself says that a key was held.
    package mutating func held(_ key: ButtonKey, at address: BluetoothAddress, now: Instant) -> [Press] {
        let known = flush()
        return known + [Press(address, key, .long)]
    }

    package mutating func deadlineReached(at now: Instant) -> [Press] {
        guard let waiting, waiting.until <= now else { return [] }
        return flush()
    }

    private mutating func flush() -> [Press] {
        guard let first = waiting else { return [] }
        waiting = nil
        return [Press(first.address, first.key, .short)]
    }
}
