package import BlueZ
package import ControlLoop
import DBus
package import Logging

/// Gives the adapters the configured name, once; a later change by another program is left alone.
@ControlPlane
package final class AdapterNames {
    /// Empty: the system's name.
    package var name: String { didSet { if name != oldValue { follow() } } }
    private let registry: DeviceRegistry
    private let logger: Logger
    /// Names that adapters were given here, by object path.
    private var given: [String: String] = [:]

    package init(_ name: String, registry: DeviceRegistry, logger: Logger) {
        self.name = name
        self.registry = registry
        self.logger = logger
        registry.events.subscribe(self) { names, _ in names.follow() }
        follow()
    }

    /// Handles a change of the adapters or the name.
    private func follow() {
        let adapters = registry.adapters
        given = given.filter { path, _ in adapters.contains { $0.path == path } }
        for adapter in adapters where given[adapter.path] ?? "" != name {
            given[adapter.path] = name.isEmpty ? nil : name
            if adapter.name != name { rename(adapter.path, name) }
        }
    }

    private func rename(_ path: String, _ name: String) {
        Task { @ControlPlane [registry, logger] in
            do throws(BusError) {
                try await registry.setAlias(name, ofAdapter: path)
            } catch {
                logger.warning("bluetoothd did not rename \(path) to \"\(name)\": \(error)")
            }
        }
    }
}
