package import BlueZ
package import ControlLoop
import DBus
package import Logging

/// Has the adapters called what the configuration says; whatever else somebody calls them afterwards is left alone.
@ControlPlane
package final class AdapterNames {
    /// Empty: as the system is called.
    package var name: String { didSet { if name != oldValue { follow() } } }
    private let registry: DeviceRegistry
    private let logger: Logger
    /// What adapters were called here, by their paths.
    private var given: [String: String] = [:]

    package init(_ name: String, registry: DeviceRegistry, logger: Logger) {
        self.name = name
        self.registry = registry
        self.logger = logger
        registry.events.subscribe(self) { names, _ in names.follow() }
        follow()
    }

    /// Adapters may have come or gone.
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
                logger.warning("bluetoothd does not call \(path) \"\(name)\": \(error)")
            }
        }
    }
}
