package import Configuration
package import ControlLoop
package import DBus
package import Logging

/// Charge of the board's own battery, which headsets are shown (+CIEV, indicator `battchg`).
///
/// The source is UPower's display device (`org.freedesktop.UPower.Device`: `Percentage`, `IsPresent`), or a program that
/// sets `Manager1.BoardBattery`, which takes precedence. btcalld never starts UPower: where UPower does not run, the only
/// cost is one watch of its name.
@ControlPlane
package final class BoardBattery {
    private static let service = "org.freedesktop.UPower"
    private static let path = "/org/freedesktop/UPower/devices/DisplayDevice"
    private static let interface = "org.freedesktop.UPower.Device"
    private static let properties = "org.freedesktop.DBus.Properties"

    package var source: BoardBatterySource {
        didSet { if source != oldValue { follow() } }
    }
    /// 0…100; nil without a battery, or while no source reports it.
    package private(set) var percent: Int?
    package let changes = Signal<Void>()

    private let bus: BusConnection
    private let logger: Logger
    private var subscriptions: [Subscription] = []
    /// The unique name of UPower.
    private var owner: String?
    private var isPresent = false
    private var percentage: Double?
    /// Charge set by a program.
    private var given: Int?

    package init(bus: BusConnection, source: BoardBatterySource, logger: Logger) {
        self.bus = bus
        self.source = source
        self.logger = logger
        follow()
    }

    isolated deinit { stop() }

    /// Returns the indicator's value for a charge: one step per fifth, rounded.
    ///
    /// - Parameter percent: 0…100; nil (no battery) gives 5.
    package nonisolated static func level(_ percent: Int?) -> Int {
        percent.map { (min(max($0, 0), 100) + 10) / 20 } ?? 5
    }

    /// Sets the charge that a program reports.
    ///
    /// - Parameter percent: 0…100; nil withdraws it.
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
                    self?.update(with: signal.arguments[1])
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
            case .success(let values): if let first = values.first { update(with: first) }
            case .failure(let error): logger.info("UPower does not report the board's battery: \(error)")
            }
        }
    }

    /// Properties of another type than UPower documents are ignored.
    private func update(with properties: Value) {
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
