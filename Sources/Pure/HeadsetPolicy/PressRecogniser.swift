package import BluetoothTypes

/// Distinguishes a double press from two short ones. Headsets send presses without their length, so a short one is known
/// only when the time for a second has passed; keys without a function for double presses do not wait for it.
package struct PressRecogniser: Equatable, Sendable {
    package struct Press: Hashable, Sendable {
        package let address: BluetoothAddress
        package let gesture: ButtonGesture

        package init(_ address: BluetoothAddress, _ key: ButtonKey, _ press: ButtonPress) {
            self.address = address
            gesture = ButtonGesture(key, press)
        }
    }

    /// Maximum time from the first press to the second.
    package static let doubleInterval = Duration.milliseconds(400)

    private struct Waiting: Equatable {
        let address: BluetoothAddress
        let key: ButtonKey
        let until: Instant
    }

    private let doubles: Set<ButtonKey>
    private var waiting: Waiting?

    /// - Parameter doubles: keys with a separate function for double presses.
    package init(doubles: Set<ButtonKey>) {
        self.doubles = doubles
    }

    /// Next time for `deadlineReached`; nil for none.
    package var deadline: Instant? { waiting?.until }

    /// Handles a key that was pressed and released.
    ///
    /// - Returns: the recognised presses, in order.
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

    /// Handles a key that the headset reports as held.
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
