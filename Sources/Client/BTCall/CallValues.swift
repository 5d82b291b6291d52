/// The values of one property of a call: the present value, then each different one, in order, until the call ends or the
/// daemon goes.
///
/// It is empty for a call that has ended. One task reads it; a slow reader loses the oldest of 1024 events.
public struct CallValues<Element: Hashable & Sendable>: AsyncSequence, Sendable {
    public typealias Failure = Never

    private let events: AsyncStream<BridgeEvent>
    private let value: @Sendable (BridgeEvent) -> Element?

    /// - Parameter value: the value in an event; nil for an event without one.
    init(_ events: AsyncStream<BridgeEvent>, _ value: @escaping @Sendable (BridgeEvent) -> Element?) {
        self.events = events
        self.value = value
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(events: events.makeAsyncIterator(), value: value)
    }

    public struct AsyncIterator: AsyncIteratorProtocol {
        public typealias Failure = Never

        fileprivate var events: AsyncStream<BridgeEvent>.AsyncIterator
        fileprivate let value: @Sendable (BridgeEvent) -> Element?
        private var last: Element?

        fileprivate init(
            events: AsyncStream<BridgeEvent>.AsyncIterator, value: @escaping @Sendable (BridgeEvent) -> Element?
        ) {
            self.events = events
            self.value = value
        }

        public mutating func next() async -> Element? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> Element? {
            while let event = await events.next(isolation: actor) {
                guard let new = value(event), new != last else { continue }
                last = new
                return new
            }
            return nil
        }
    }
}
