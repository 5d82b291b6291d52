package import BluetoothTypes
import HandsFree

/// One key, however it is connected: pressed, released, stuck or gone.
///
/// A reader turns bytes into signals, this machine turns signals into events for `TalkFloor` and for the bus. A device may
/// repeat a press while it is held, lose a release, or flood: each press gives one event, and each event of a press is
/// followed by one of `released`, `stuck` or `gone`.
package struct TalkKey: Sendable {
    package enum State: Hashable, Sendable {
        /// The device is not connected, the input not open.
        case gone
        case released
        case pressed(until: Instant)
        /// Held longer than the limit: it counts as released until it is released.
        case stuck
        /// Signals are ignored, because there were too many.
        case resting(until: Instant)
    }

    package enum Event: String, Hashable, Sendable, CaseIterable {
        case pressed, released
        /// Pressed; the button reports no releases.
        case tapped
        /// Held longer than the limit; `released` follows when it is released.
        case stuck
        /// The device vanished; after `pressed` nothing else follows.
        case gone
    }

    package enum Action: Hashable, Sendable {
        case event(Event)
        /// The device sent too many signals: none count until it has been silent for `rest`.
        case noteFlood
        /// Call `deadlineReached` at this time, once; replaces an earlier deadline, nil cancels it.
        case setDeadline(Instant?)
    }

    /// Signals at once. The fastest thumb presses ten times a second, which is 20 signals.
    package static let burst = 40
    /// Signals per second in the long run; devices that repeat a press while it is held send ten.
    package static let perSecond = 20
    /// Time without a signal after which a device that flooded counts again.
    package static let rest = Duration.seconds(5)

    package private(set) var state = State.gone
    /// Longest time for which the key may be held.
    private let limit: Duration
    private var quota = CommandQuota(burst: Self.burst, perSecond: Self.perSecond)
    /// Signals came during the rest.
    private var isRestless = false
    private var deadline: Instant?

    /// - Parameter limit: longest time for which the key may be held, normally `TalkSettings.limit`.
    package init(limit: Duration) {
        self.limit = limit
    }

    package var isPressed: Bool {
        switch state {
        case .pressed: true
        case .gone, .released, .stuck, .resting: false
        }
    }

    /// Handles the connection of the device, or the opening of the input. Its key counts as released until it is pressed.
    package mutating func appeared() -> [Action] {
        switch state {
        case .gone:
            state = .released
            quota = CommandQuota(burst: Self.burst, perSecond: Self.perSecond)
            return finish([])
        case .released, .pressed, .stuck, .resting: return finish([])
        }
    }

    /// Handles the loss of the device or of the input.
    package mutating func vanished() -> [Action] {
        switch state {
        case .gone: return finish([])
        case .released, .pressed, .stuck, .resting:
            state = .gone
            return finish([.event(.gone)])
        }
    }

    /// Handles a signal from a reader; ignored while the device is gone.
    package mutating func signal(_ signal: TalkSignal, at now: Instant) -> [Action] {
        switch state {
        case .gone: return finish([])
        case .resting:
            isRestless = true
            return finish([])
        case .released, .pressed, .stuck: break
        }
        guard quota.consume(at: now) else { return finish(rest(at: now)) }
        switch (signal, state) {
        case (.pressed, .released):
            state = .pressed(until: now.advanced(by: limit))
            return finish([.event(.pressed)])
        // Repeated while it is held; or the release was lost, and the next one closes.
        case (.pressed, .pressed), (.pressed, .stuck): return finish([])
        case (.released, .pressed), (.released, .stuck), (.tapped, .pressed), (.tapped, .stuck):
            state = .released
            return finish([.event(.released)])
        case (.tapped, .released): return finish([.event(.tapped)])
        case (.released, .released): return finish([])
        case (_, .gone), (_, .resting): return finish([])
        }
    }

    package mutating func deadlineReached(at now: Instant) -> [Action] {
        deadline = deadline.flatMap { $0 <= now ? nil : $0 }
        switch state {
        case .pressed(let time) where time <= now:
            state = .stuck
            return finish([.event(.stuck)])
        case .resting(let time) where time <= now:
            state = isRestless ? .resting(until: now.advanced(by: Self.rest)) : .released
            isRestless = false
            return finish([])
        case .gone, .released, .pressed, .stuck, .resting: return finish([])
        }
    }

    private mutating func rest(at now: Instant) -> [Action] {
        let before: [Action] =
            switch state {
            case .pressed, .stuck: [.event(.released)]
            case .gone, .released, .resting: []
            }
        state = .resting(until: now.advanced(by: Self.rest))
        isRestless = false
        return before + [.noteFlood]
    }

    /// Ends every input: adds the deadline if it changed.
    private mutating func finish(_ actions: [Action]) -> [Action] {
        let next: Instant? =
            switch state {
            case .pressed(let time), .resting(let time): time
            case .gone, .released, .stuck: nil
            }
        guard next != deadline else { return actions }
        deadline = next
        return actions + [.setDeadline(next)]
    }
}
