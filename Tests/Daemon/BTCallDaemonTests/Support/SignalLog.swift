import BTCallAPI
import BluetoothTypes
import ControlLoop
import DBus
import TestSupport
import Testing

/// The daemon's signals to a listening client, with the times of their arrival.
@ControlPlane
final class SignalLog {
    struct Change: Hashable {
        let old: String
        let new: String
        let reason: String
    }

    private(set) var changes: [Change] = []
    /// Time and value of the last signalled `Devices`.
    private(set) var devices: (at: Instant, value: [[String: Value]])?
    /// The states of each device in every signalled `Devices`.
    private var states: [String: [String]] = [:]
    private let bus: BusConnection
    private var subscriptions: [Subscription] = []

    init(_ address: BusAddress) async throws {
        bus = try BusConnection(address)
        subscriptions = [
            bus.subscribe(sender: BTCallName.bus, path: BTCallPath.router, member: BTCallName.Router.routeChanged) {
                [weak self] signal in
                let words = signal.arguments.map { $0.stringValue ?? "" }
                self?.changes.append(Change(old: words[0], new: words[1], reason: words[2]))
            },
            bus.subscribe(sender: BTCallName.bus, path: BTCallPath.router, member: "PropertiesChanged") {
                [weak self] signal in
                guard let value = signal.arguments[1].vardictValue?[BTCallName.Router.devices] else { return }
                self?.received(value.arrayValue?.compactMap(\.vardictValue) ?? [])
            },
        ]
        // Every signal that the daemon sends after this reply is recorded.
        _ = try await bus.owner(of: BTCallName.bus)
    }

    private func received(_ value: [[String: Value]]) {
        devices = (ControlLoop.now, value)
        for device in value {
            states[device["device"]?.stringValue ?? "", default: []].append(device["state"]?.stringValue ?? "")
        }
    }

    /// Whether these are among the states that a device was signalled with, in this order.
    func hasPassed(_ expected: [String], _ device: String) -> Bool {
        var left = expected[...]
        for state in states[device] ?? [] where state == left.first { left.removeFirst() }
        return left.isEmpty
    }

    func close() {
        for subscription in subscriptions { subscription.cancel() }
        bus.close()
    }

    /// Runs an action and waits until `Devices` has been signalled as expected.
    ///
    /// - Returns: the time that it took.
    func devicesChange(
        _ what: String, after action: @ControlPlane () async throws -> Void,
        to isExpected: @ControlPlane ([[String: Value]]) -> Bool
    ) async throws -> Duration {
        devices = nil
        let start = ControlLoop.now
        try await action()
        try await eventually("Devices is signalled: \(what)") { self.devices.map { isExpected($0.value) } ?? false }
        return devices.map { start.duration(to: $0.at) } ?? .zero
    }
}
