package import BTCallAPI
import ControlLoop
import DBus
import Logging
import Telephony

// The bus ends while calls are up. All applications lose their names then, but none has ended: audio has its own sockets,
// and continues.
extension CallDirectory {
    /// Called when an application's name has left the bus.
    package func nameVanished(_ busName: String) {
        guard bus.isConnected else { return keep(busName) }
        Task { @ControlPlane [weak self, bus] in
            // On a bus that still runs, the application has ended or closed its connection.
            if await bus.isBusThere() { self?.gone(busName) } else { self?.keep(busName) }
        }
    }

    private func keep(_ busName: String) {
        absence?.cancel()
        absence = nil
        unwatch(busName)
        for index in providers.indices where providers[index].owner.busName == busName {
            (providers[index].owner as? CallProviderProxy)?.leave()
            let count = calls.count { $0.provider === providers[index].owner }
            logger.notice("\(providers[index].owner.name) has left with the bus: its calls continue (\(count))")
        }
    }

    /// The bus has returned: applications that do not come back within `absenceTimeout` count as gone.
    package func busReturned() {
        absence?.cancel()
        absence = ControlLoop.shared.schedule(after: absenceTimeout) { [weak self] in self?.endAbsence() }
    }

    private func endAbsence() {
        absence = nil
        remove { owner in
            guard (owner as? CallProviderProxy)?.isAbsent ?? false else { return false }
            logger.notice(
                "\(owner.name) has not come back to the bus within \(absenceTimeout): its calls end")
            return true
        }
    }

    /// Registers an application that has come back and names the calls it had; its calls keep their state.
    package func reattach(_ busName: String, _ path: String, _ options: ProviderOptions) throws(APIError) {
        for index in providers.indices {
            guard let proxy = providers[index].owner as? CallProviderProxy, proxy.isAbsent, proxy.path == path,
                proxy.name == options.name, proxy.options.format == options.format
            else { continue }
            let own = calls.filter { $0.provider === proxy }
            guard own.contains(where: { options.calls.contains($0.path) }) else { continue }
            proxy.comeBack(as: busName)
            watch(busName)
            let over = own.filter { !options.calls.contains($0.path) }
            logger.notice("\(proxy.name) has come back to the bus with its calls (\(own.count - over.count))")
            for record in over { try update(record, .ended(.remoteHangUp), from: busName) }
            providerChanges.send()
            return
        }
        throw APIError(
            .noSuchCall,
            "no call in calls waits for this application to come back: register without calls, and report those that are up"
        )
    }
}
