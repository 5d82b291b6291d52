internal import ControlLoop
internal import Logging

extension BusConnection {
    /// Calls `handler` for each signal that matches all arguments that are not nil.
    ///
    /// No signal that a later call causes is missed. An invalid rule is our mistake: it is logged, and nothing arrives.
    ///
    /// - Parameters:
    ///   - sender: a unique name, or a well-known one: then only signals of its present owner arrive.
    ///   - pathNamespace: this path and all below.
    ///   - argument0: the first argument, a string.
    ///   - argument0Namespace: the first argument is this name or one below it.
    @discardableResult
    package func subscribe(
        sender: String? = nil, path: String? = nil, pathNamespace: String? = nil, interface: String? = nil,
        member: String? = nil, argument0: String? = nil, argument0Namespace: String? = nil,
        _ handler: @escaping @ControlPlane (BusSignal) -> Void
    ) -> Subscription {
        let rule = MatchRule(
            sender: sender, path: path, pathNamespace: pathNamespace, interface: interface, member: member,
            argument0: argument0, argument0Namespace: argument0Namespace)
        do {
            try rule.check()
        } catch {
            log.error("cannot subscribe: \(error)")
            return Subscription(nil)
        }
        let isWellKnown = sender.map { !$0.hasPrefix(":") && $0 != Self.busName } ?? false
        let subscription = SignalSubscription(
            rule: rule, sender: isWellKnown ? sender.map { follow($0) } : nil, handler)
        subscriptions.append(subscription)
        addMatch(rule)
        return Subscription { [weak self] in self?.remove(subscription) }
    }

    /// Reports the owner of a bus name: first the present owner, then each change.
    ///
    /// - Parameter changed: called with the owner's unique name, nil if the name has no owner; never called before this
    ///   returns. While the bus is away the name has no owner.
    @discardableResult
    package func watchName(
        _ name: String, _ changed: @escaping @ControlPlane (_ owner: String?) -> Void
    ) -> Subscription {
        do {
            try NameRule.busName.check(name)
        } catch {
            log.error("cannot watch a name: \(error)")
            return Subscription(nil)
        }
        let watcher = NameOwner.Watcher(changed)
        let owner = follow(name)
        owner.add(watcher)
        if owner.isKnown {
            loop.perform { watcher.report(owner.owner) }
        }
        return Subscription { [weak self] in
            owner.remove(watcher)
            self?.unfollow(owner)
        }
    }

    func signalReceived(_ message: Message) {
        let (sender, path, member) = (message.sender, message.path, message.member)
        let interface = message.interface ?? ""
        var decoded: [Value]?
        if sender == Self.busName, interface == Self.busName, member == "NameOwnerChanged" {
            decoded = ownerChanged(message)
        }
        for subscription in subscriptions
        where subscription.wants(message, path: path, interface: interface, member: member, sender: sender) {
            guard let handler = subscription.handler else { continue }
            if decoded == nil {
                do {
                    decoded = try message.arguments()
                } catch {
                    return log.warning("signal \(interface).\(member) of \(sender) was ignored: \(error)")
                }
            }
            handler(
                BusSignal(sender: sender, path: path, interface: interface, member: member, arguments: decoded ?? []))
        }
    }

    /// Restores, after a new connection, everything that the bus has forgotten about us.
    func restore() {
        for name in names.values { startFollowing(name) }
        for subscription in subscriptions { addMatch(subscription.rule) }
        for name in requestedNames { requestAgain(name) }
    }

    private func remove(_ subscription: SignalSubscription) {
        subscription.handler = nil
        guard let index = subscriptions.firstIndex(where: { $0 === subscription }) else { return }
        subscriptions.remove(at: index)
        removeMatch(subscription.rule)
        if let sender = subscription.sender { unfollow(sender) }
    }

    private func addMatch(_ rule: MatchRule) {
        guard isConnected else { return }
        let text = rule.text
        send(Self.busName, Self.busPath, Self.busName, "AddMatch", [.string(text)]) { [log] result in
            if case .failure(let error) = result, !error.hasName(BusError.Name.disconnected) {
                log.error("no signals for \(text): \(error)")
            }
        }
    }

    private func removeMatch(_ rule: MatchRule) {
        guard isConnected else { return }
        post(Self.busName, Self.busPath, Self.busName, "RemoveMatch", [.string(rule.text)])
    }

    // MARK: Owners of names

    func follow(_ name: String) -> NameOwner {
        let owner = names[name] ?? NameOwner(name: name)
        owner.users += 1
        if names[name] == nil {
            names[name] = owner
            startFollowing(owner)
        }
        return owner
    }

    private func unfollow(_ owner: NameOwner) {
        owner.users -= 1
        guard owner.users == 0, names[owner.name] === owner else { return }
        names[owner.name] = nil
        removeMatch(owner.rule)
    }

    /// Subscribes to changes first, then reads the present state: the bus answers in this order, so nothing is missed in
    /// between.
    private func startFollowing(_ owner: NameOwner) {
        addMatch(owner.rule)
        send(Self.busName, Self.busPath, Self.busName, "GetNameOwner", [.string(owner.name)]) { [log] result in
            switch result {
            case .success(let values): owner.update(values.first?.stringValue)
            case .failure(let error) where error.hasName(BusError.Name.disconnected):
                // Queried again after reconnecting; until then it has no owner.
                owner.forget()
            case .failure(let error):
                if !error.hasName(BusError.Name.nameHasNoOwner) { log.warning("owner of \(owner.name): \(error)") }
                owner.update(nil)
            }
        }
    }

    private func ownerChanged(_ message: Message) -> [Value]? {
        guard message.signature == "sss", let values = try? message.arguments(), values.count == 3,
            let name = values[0].stringValue, let owner = values[2].stringValue
        else { return nil }
        names[name]?.update(owner.isEmpty ? nil : owner)
        return values
    }
}
