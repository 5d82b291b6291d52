import BTCallAPI
import ControlLoop
import DBus

// Restart of the bus: the daemon, this program and its calls survive it.
extension ProviderProxy {
    /// Longest wait for the bus and the daemon to return.
    private static let returnTimeout = Duration.seconds(60)

    func ownerChanged(_ owner: String?) {
        if absence != nil {
            if let owner { comeBack(to: owner) }
            return
        }
        guard let daemon, owner != daemon else { return }
        if owner != nil { return end() }
        Task { @ControlPlane in
            let hasGone = await connection.connection.isBusThere()
            guard self.daemon == daemon, absence == nil else { return }
            if hasGone { end() } else { keep() }
        }
    }

    /// All names are lost with the bus; the new bus may give the old unique names to others.
    private func keep() {
        daemon = nil
        absence = ControlLoop.shared.schedule(after: Self.returnTimeout) { [weak self] in self?.end() }
    }

    private func comeBack(to owner: String) {
        absence?.cancel()
        absence = nil
        daemon = owner
        Task { @ControlPlane in
            do throws(BridgeError) {
                let present = try await connection.callList().map(\.id).filter(own.contains)
                guard daemon == owner, var options else { return }
                // The daemon was restarted as well.
                guard own.isEmpty || !present.isEmpty else { return end() }
                options.calls = present.map(\.path)
                try await request(options)
                if daemon == owner { own = Set(present) }
            } catch {
                if daemon == owner { end() }
            }
        }
    }
}
