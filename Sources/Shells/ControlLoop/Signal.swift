/// Event source of one part, with any number of subscribers; on the control plane.
///
/// Subscribers are called in the order of their subscriptions, each before `send` returns. No subscriber can replace
/// another, and the sender does not know its subscribers. Do not rely on the order of two subscribers: use two signals, or a
/// call.
///
/// While an event is being sent:
/// - A new subscriber receives the next event first.
/// - A subscriber that cancels, or whose owner goes, receives nothing more, not even that event.
/// - Another event that a subscriber causes reaches all subscribers at once; then the first one goes on.
@ControlPlane
package final class Signal<Event> {
    /// One subscriber's place; it lasts without being retained.
    @ControlPlane
    package final class Subscription {
        fileprivate var action: (@ControlPlane (Event) -> Void)?

        fileprivate init(_ action: @escaping @ControlPlane (Event) -> Void) {
            self.action = action
        }

        /// Stops calling the subscriber. A repeated call does nothing.
        package func cancel() { action = nil }
    }

    private var subscriptions: [Subscription] = []

    package nonisolated init() {}

    /// - Parameter action: called with each event until the subscription is cancelled.
    @discardableResult
    package func subscribe(_ action: @escaping @ControlPlane (Event) -> Void) -> Subscription {
        let subscription = Subscription(action)
        subscriptions.append(subscription)
        return subscription
    }

    /// Subscribes until the owner goes.
    ///
    /// - Parameters:
    ///   - owner: not retained.
    ///   - action: called with the owner and each event; it captures the owner nowhere else.
    @discardableResult
    package func subscribe<Owner: AnyObject>(
        _ owner: Owner, _ action: @escaping @ControlPlane (Owner, Event) -> Void
    ) -> Subscription {
        let subscription = Subscription { _ in }
        subscription.action = { [weak owner, weak subscription] event in
            guard let owner else {
                subscription?.cancel()
                return
            }
            action(owner, event)
        }
        subscriptions.append(subscription)
        return subscription
    }

    /// Calls all subscribers.
    package func send(_ event: Event) {
        var hasLeft = false
        // New subscribers are not among these.
        for subscription in subscriptions {
            subscription.action?(event)
            if subscription.action == nil { hasLeft = true }
        }
        if hasLeft { subscriptions.removeAll { $0.action == nil } }
    }

    /// Most subscribers called with the next event: an owner that has gone is counted until then.
    package var subscriberCount: Int { subscriptions.count { $0.action != nil } }
}

extension Signal where Event == Void {
    package func send() { send(()) }

    /// Subscribes until the owner goes.
    @discardableResult
    package func subscribe<Owner: AnyObject>(
        _ owner: Owner, _ action: @escaping @ControlPlane (Owner) -> Void
    ) -> Subscription {
        subscribe(owner) { owner, _ in action(owner) }
    }
}
