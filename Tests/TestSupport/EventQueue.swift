package import ControlLoop
package import Testing

/// Collects events from handlers, for tests that wait for them with a deadline.
@ControlPlane
package final class EventQueue<Event: Sendable> {
    private var events: [Event] = []
    private var waiter: CheckedContinuation<Event?, Never>?
    private var deadline: Timer?

    package nonisolated init() {}

    package func push(_ event: Event) {
        guard let waiting = waiter else { return events.append(event) }
        waiter = nil
        deadline?.cancel()
        waiting.resume(returning: event)
    }

    /// Events not yet read.
    package var pending: [Event] { events }

    /// The next event; fails the test when none comes in time.
    package func next(
        within limit: Duration = .seconds(10), at location: SourceLocation = #_sourceLocation
    ) async throws -> Event {
        if !events.isEmpty { return events.removeFirst() }
        let event = await withCheckedContinuation { continuation in
            waiter = continuation
            deadline = ControlLoop.shared.schedule(after: limit) { [self] in
                let waiting = waiter
                waiter = nil
                waiting?.resume(returning: nil)
            }
        }
        return try #require(event, "no event within \(limit)", sourceLocation: location)
    }
}
