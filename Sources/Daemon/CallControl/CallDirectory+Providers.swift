package import BTCallAPI
import ControlLoop
import DBus
import Logging
import Telephony

// Registrations of the applications, and of the parts of the daemon, that own calls.
extension CallDirectory {
    /// The most registrations of applications at once, in total and for each program.
    private static let mostProviders = 64
    private static let mostProvidersPerClient = 8

    package func register(busName: String, path: String, options: ProviderOptions) throws(APIError) {
        guard acceptsProviders else {
            throw APIError(.wrongState, "the daemon is not active: call Manager1.Activate first")
        }
        if !options.calls.isEmpty { return try reattach(busName, path, options) }
        let proxy = CallProviderProxy(bus: bus, busName: busName, path: path, options: options, deadline: deadline)
        if let index = index(of: busName, path) {
            providers[index].owner = proxy
            table.register(Self.provider(providers[index].key, options))
            providerChanges.send()
            return
        }
        try checkRoom(for: busName)
        watch(busName)
        let key = providers.contains { $0.key == options.name } ? "\(options.name) (\(busName)\(path))" : options.name
        add(proxy, key)
        logger.notice("\(options.name) registered as call provider at \(path)")
    }

    /// Registers a part of the daemon as an owner of calls; its key is made unique.
    package func register(_ owner: any CallOwner) {
        let isTaken = providers.contains { $0.key == owner.name }
        add(owner, isTaken ? "\(owner.name) (btcalld)" : owner.name)
        logger.notice("\(owner.name) is a call provider")
    }

    /// Ends the registration and its calls.
    package func unregister(_ owner: any CallOwner) {
        if let index = index(of: owner) { remove(at: index) }
    }

    private func add(_ owner: any CallOwner, _ key: String) {
        table.register(Self.provider(key, owner.options))
        providers.append((key, owner))
        providerChanges.send()
    }

    package func hasProvider(_ fits: (any CallOwner) -> Bool) -> Bool { providers.contains { fits($0.owner) } }

    private static func provider(_ key: String, _ options: ProviderOptions) -> CallProvider {
        CallProvider(
            name: key, capabilities: CallCapabilities(options.capabilities), hasCallState: options.hasCallState,
            dialsNumbers: options.schemes.isEmpty || options.schemes.contains(CallAddress.numbers))
    }

    package func unregister(busName: String, path: String) throws(APIError) {
        guard let index = index(of: busName, path) else { throw Self.noSuchProvider(path) }
        remove(at: index)
    }

    /// Ends all registrations and notifies their applications.
    package func releaseProviders() {
        while let last = providers.indices.last {
            providers[last].owner.released()
            remove(at: last)
        }
    }

    package func watch(_ busName: String) {
        guard clients[busName] == nil else { return }
        clients[busName] = bus.watchName(busName) { [weak self] owner in
            if owner == nil { self?.nameVanished(busName) }
        }
    }

    /// Stops watching an application that has no registration left.
    package func unwatch(_ busName: String) { clients.removeValue(forKey: busName)?.cancel() }

    package func gone(_ busName: String) {
        remove { owner in
            guard owner.busName == busName else { return false }
            logger.notice("\(owner.name) left the bus: its calls end")
            return true
        }
    }

    package func remove(at index: Int) {
        let owner = providers[index].owner
        remove { $0 === owner }
    }

    /// Ends registrations and the calls of their applications.
    package func remove(_ isLeaving: (any CallOwner) -> Bool) {
        finishFailures()
        var leaving: [(key: String, owner: any CallOwner)] = []
        providers.removeAll { provider in
            guard isLeaving(provider.owner) else { return false }
            leaving.append(provider)
            return true
        }
        guard !leaving.isEmpty else { return }
        let present = Set(providers.compactMap(\.owner.busName))
        for (key, owner) in leaving {
            if let busName = owner.busName, !present.contains(busName) { unwatch(busName) }
            run(table.providerGone(key))
        }
        providerChanges.send()
    }

    private func checkRoom(for busName: String) throws(APIError) {
        let registered = providers.compactMap { $0.owner as? CallProviderProxy }
        guard registered.count(where: { $0.sender == busName }) < Self.mostProvidersPerClient else {
            throw APIError(
                .wrongState,
                "you have registered \(Self.mostProvidersPerClient) providers, the most for one program: "
                    + "unregister one first")
        }
        guard registered.count < Self.mostProviders else {
            throw APIError(.wrongState, "\(Self.mostProviders) call providers are registered, the most there can be")
        }
    }

    package func index(of busName: String, _ path: String) -> Int? {
        providers.firstIndex { provider in
            guard let proxy = provider.owner as? CallProviderProxy else { return false }
            return proxy.sender == busName && proxy.path == path
        }
    }

    package func index(of owner: any CallOwner) -> Int? {
        providers.firstIndex { $0.owner === owner }
    }

    package static func noSuchProvider(_ path: String) -> APIError {
        APIError(.noSuchProvider, "you have registered no provider at \(path): call Calls1.RegisterProvider first")
    }
}
