/// What one part has to tell, to any number of others; on the control plane.
///
/// Subscribers are called in the order in which they subscribed, each before `send` returns. Nobody can take another's place,
/// and the sender does not know who listens. Who depends on an order between two subscribers says so with two signals, or with
/// a call: the order of subscriptions is none to build on.
///
/// While an event is being sent:
/// - Who subscribes hears the next one first.
/// - Who cancels, or whose owner goes, hears nothing more, not that event either.
/// - Another event that a subscriber causes reaches all of them at once; then the first one goes on.
@ControlPlane
package final class Signal<Event> {
    /// One subscriber's place; it lasts without being kept.
    @ControlPlane
    package final class Subscription {
        fileprivate var action: (@ControlPlane (Event) -> Void)?

        fileprivate init(_ action: @escaping @ControlPlane (Event) -> Void) {
            self.action = action
        }

        /// Calls the subscriber no more. Once more it does nothing.
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
        // Who subscribes meanwhile is not among these.
        for subscription in subscriptions {
            subscription.action?(event)
            if subscription.action == nil { hasLeft = true }
        }
        if hasLeft { subscriptions.removeAll { $0.action == nil } }
    }

    /// How many are called with the next event, at most: an owner that has gone is counted until then.
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
