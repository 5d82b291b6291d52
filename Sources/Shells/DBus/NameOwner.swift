package import ControlLoop

/// Ends a subscription or the watch of a name. Dropping it does not cancel.
@ControlPlane
package final class Subscription {
    private var onCancel: (@ControlPlane () -> Void)?

    init(_ onCancel: (@ControlPlane () -> Void)?) {
        self.onCancel = onCancel
    }

    /// Cancels it; the handler is not called any more.
    package func cancel() {
        let action = onCancel
        onCancel = nil
        action?()
    }
}

/// One handler of signals.
@ControlPlane
final class SignalSubscription {
    let rule: MatchRule
    /// The followed owner of the rule's sender, if that is a well-known name.
    let sender: NameOwner?
    var handler: (@ControlPlane (BusSignal) -> Void)?

    init(rule: MatchRule, sender: NameOwner?, _ handler: @escaping @ControlPlane (BusSignal) -> Void) {
        self.rule = rule
        self.sender = sender
        self.handler = handler
    }

    func wants(_ message: Message, path: String, interface: String, member: String, sender actual: String) -> Bool {
        guard
            rule.matches(
                path: path, interface: interface, member: member, argument0: { message.firstString })
        else { return false }
        if let sender { return sender.owner == actual }
        return rule.sender == nil || rule.sender == actual
    }
}

/// The owner of a bus name, as reported by the bus.
@ControlPlane
final class NameOwner {
    /// A watcher of the owner.
    @ControlPlane
    final class Watcher {
        var handler: (@ControlPlane (String?) -> Void)?
        private var reported: String??

        init(_ handler: (@ControlPlane (String?) -> Void)?) {
            self.handler = handler
        }

        func report(_ owner: String?) {
            if let reported, reported == owner { return }
            reported = .some(owner)
            handler?(owner)
        }
    }

    let name: String
    private(set) var isKnown = false
    private(set) var owner: String?
    private(set) var watchers: [Watcher] = []
    /// Watchers and subscriptions that need this.
    var users = 0

    init(name: String) {
        self.name = name
    }

    var rule: MatchRule {
        MatchRule(
            sender: BusConnection.busName, path: BusConnection.busPath, interface: BusConnection.busName,
            member: "NameOwnerChanged", argument0: name)
    }

    func add(_ watcher: Watcher) {
        watchers.append(watcher)
    }

    func remove(_ watcher: Watcher) {
        watcher.handler = nil
        watchers.removeAll { $0 === watcher }
    }

    /// - Parameter owner: a unique name, nil if the name has no owner.
    func update(_ owner: String?) {
        isKnown = true
        self.owner = owner
        for watcher in watchers { watcher.report(owner) }
    }

    /// The connection is lost: nobody can be reached by this name.
    func forget() {
        update(nil)
        isKnown = false
    }
}
