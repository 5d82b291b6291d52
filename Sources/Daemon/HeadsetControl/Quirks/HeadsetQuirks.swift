package import BlueZ
package import BluetoothTypes
package import Configuration
package import ControlLoop
package import HandsFree
package import Logging

/// Quirks of each headset: matches the database with what BlueZ and the kernel know.
@ControlPlane
package final class HeadsetQuirks {
    package let database: QuirksDatabase
    private let lastWords: [BluetoothAddress: [QuirkEffect]]
    private let registry: DeviceRegistry
    private let facts: ControllerFacts
    private let logger: Logger
    private let kernel = ControllerFacts.kernel

    package init(configuration: Configuration, registry: DeviceRegistry, facts: ControllerFacts, logger: Logger) {
        database = configuration.quirks
        lastWords = configuration.headsetEffects
        self.registry = registry
        self.facts = facts
        self.logger = logger
    }

    /// Returns the quirks of a headset that connects, and logs those that apply.
    package func quirks(of address: BluetoothAddress) -> Quirks {
        let explanation = explain(address)
        if let summary = explanation.summary { logger.notice("\(address): quirks: \(summary)") }
        for match in explanation.applied {
            if let advice = match.row.advice { logger.info("\(address): \(match.row.name): \(advice)") }
        }
        return explanation.quirks
    }

    /// Explains the quirks of any headset, even one that is not connected or not known.
    package func explain(_ address: BluetoothAddress) -> QuirksExplanation {
        let device = registry.device(address)
        let path = device?.adapterPath ?? registry.adapters.first(where: \.powered)?.path
        let controller = path.flatMap { registry.adapter(path: $0) }.map { adapter in
            facts.controller(adapter.controller, manufacturer: facts.manufacturer(of: adapter))
        }
        let modalias = device.flatMap { $0.modalias.isEmpty ? nil : $0.modalias }
        return database.explain(
            QuirkSubject(
                address: address, name: device?.announcedName, modalias: modalias, controller: controller ?? .init(),
                kernel: kernel),
            lastWord: lastWords[address] ?? [], on: Self.today)
    }

    package func isKnown(_ address: BluetoothAddress) -> Bool { registry.device(address) != nil }

    /// Whether bluetoothd has a radio link to it.
    package func isConnected(_ address: BluetoothAddress) -> Bool { registry.device(address)?.connected == true }

    /// Today's date by the board's clock: a clock that was never set is in the past, where nothing has expired.
    package static var today: CalendarDate { CalendarDate(unixSeconds: WallClock.now.milliseconds / 1000) }
}
