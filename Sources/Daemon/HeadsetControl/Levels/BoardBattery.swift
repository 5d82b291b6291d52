package import Configuration
package import ControlLoop
package import DBus
package import Logging

/// The charge of the board's own battery, which headsets are shown (+CIEV, indicator `battchg`).
///
/// It comes from UPower's display device (`org.freedesktop.UPower.Device`: `Percentage`, `IsPresent`), or from a program that
/// sets `Manager1.BoardBattery`, which goes before it. UPower is not started for this: where it does not run there is one
/// watch of its name, and nothing else.
@ControlPlane
package final class BoardBattery {
    private static let service = "org.freedesktop.UPower"
    private static let path = "/org/freedesktop/UPower/devices/DisplayDevice"
    private static let interface = "org.freedesktop.UPower.Device"
    private static let properties = "org.freedesktop.DBus.Properties"

    package var source: BoardBatterySource {
        didSet { if source != oldValue { follow() } }
    }
    /// 0…100; nil when there is no battery, or nobody says.
    package private(set) var percent: Int?
    package let changes = Signal<Void>()

    private let bus: BusConnection
    private let logger: Logger
    private var subscriptions: [Subscription] = []
    /// The unique name of UPower.
    private var owner: String?
    private var isPresent = false
    private var percentage: Double?
    /// What a program has set.
    private var given: Int?

    package init(bus: BusConnection, source: BoardBatterySource, logger: Logger) {
        self.bus = bus
        self.source = source
        self.logger = logger
        follow()
    }

    isolated deinit { stop() }

    /// The indicator's value for a charge: a fifth each, rounded.
    ///
    /// - Parameter percent: 0…100; nil is what headsets are shown without a battery.
    package nonisolated static func level(_ percent: Int?) -> Int {
        percent.map { (min(max($0, 0), 100) + 10) / 20 } ?? 5
    }

    /// Takes what a program says.
    ///
    /// - Parameter percent: 0…100; nil takes it back.
    package func give(_ percent: Int?) {
        given = percent
        update()
    }

    package func stop() {
        for subscription in subscriptions { subscription.cancel() }
        subscriptions = []
    }

    private func follow() {
        stop()
        forget()
        if source == .upower {
            subscriptions = [
                bus.subscribe(
                    sender: Self.service, path: Self.path, interface: Self.properties, member: "PropertiesChanged",
                    argument0: Self.interface
                ) { [weak self] signal in
                    guard signal.arguments.count > 1 else { return }
                    self?.take(signal.arguments[1])
                },
                bus.watchName(Self.service) { [weak self] owner in self?.ownerChanged(owner) },
            ]
        }
        update()
    }

    private func forget() {
        owner = nil
        isPresent = false
        percentage = nil
    }

    private func ownerChanged(_ owner: String?) {
        forget()
        self.owner = owner
        update()
        guard let owner else { return }
        bus.send(owner, Self.path, Self.properties, "GetAll", [.string(Self.interface)]) { [weak self] result in
            guard let self, self.owner == owner else { return }
            switch result {
            case .success(let values): if let first = values.first { take(first) }
            case .failure(let error): logger.info("UPower does not say how full the board's battery is: \(error)")
            }
        }
    }

    /// Properties of another type than UPower documents are passed over.
    private func take(_ properties: Value) {
        if let value = properties["IsPresent"]?.boolValue { isPresent = value }
        if let value = properties["Percentage"]?.doubleValue { percentage = value }
        update()
    }

    private func update() {
        let measured = isPresent ? percentage.flatMap { (0...100).contains($0) ? Int($0.rounded()) : nil } : nil
        let now: Int? =
            switch source {
            case .upower: given ?? measured
            case .property: given
            case .none: nil
            }
        guard now != percent else { return }
        percent = now
        changes.send()
    }
}
