import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus
package import HeadsetControl
import HeadsetPolicy

/// `org.btcall.Pairing1` at `/org/btcall`.
@ControlPlane
package final class PairingObject {
    private let bus: BusConnection
    private let pairing: PairingControl

    package init(bus: BusConnection, pairing: PairingControl) {
        self.bus = bus
        self.pairing = pairing
        bus.export([interface], at: BTCallPath.manager)
        pairing.events.subscribe(self) { object, event in
            switch event {
            case .stateChanged: object.changed(BTCallName.Pairing.state)
            case .searchingChanged: object.changed(BTCallName.Pairing.searching)
            case .found(let found): object.show(found)
            case .finished(let result): object.show(result)
            }
        }
    }

    private var interface: ExportedInterface {
        typealias Name = BTCallName.Pairing
        return ExportedInterface(
            BTCallName.Interface.pairing,
            methods: [
                .init(Name.open, in: [("seconds", "u"), ("options", "a{sv}")], by: open),
                .init(Name.close, by: close),
                .init(Name.scan, in: [("seconds", "u")], by: scan),
                .init(Name.trust, in: [("address", "s"), ("trusted", "b")], by: trust),
                .init(Name.forget, in: [("address", "s")], by: forget),
            ],
            signals: [
                .init(Name.deviceFound, [("address", "s"), ("name", "s"), ("rssi", "n"), ("profiles", "as")]),
                .init(Name.finished, [("address", "s"), ("outcome", "s"), ("reason", "s")]),
            ],
            properties: [
                .init(Name.state, "s", get: stateValue),
                .init(Name.searching, "b", get: searchingValue),
                .init(Name.secondsLeft, "u", changes: .silent, get: secondsLeftValue),
            ])
    }

    // MARK: Members

    private func open(_ call: MethodCall) async throws(APIError) {
        let options = try PairingOptions(call.fields(1, .openPairing))
        let who = await caller(call)
        try await pairing.open(
            seconds: call.integer(0), allow: options.allow, pin: options.pin, searchesInCall: options.search, by: who)
    }

    private func close(_ call: MethodCall) async throws(APIError) { try pairing.close(by: await caller(call)) }

    private func scan(_ call: MethodCall) async throws(APIError) {
        let who = await caller(call)
        try pairing.scan(seconds: call.integer(0), by: who)
    }

    private func trust(_ call: MethodCall) async throws(APIError) {
        let who = await caller(call)
        try await pairing.trust(call.address(0), call.flag(1), by: who)
    }

    private func forget(_ call: MethodCall) async throws(APIError) {
        let who = await caller(call)
        try await pairing.forget(call.address(0), by: who)
    }

    private func stateValue() -> Value { .string(pairing.state.rawValue) }

    private func searchingValue() -> Value { .bool(pairing.isSearching) }

    private func secondsLeftValue() -> Value { .uint32(UInt32(clamping: pairing.secondsLeft)) }

    /// The caller's bus name and process, for the log.
    private func caller(_ call: MethodCall) async -> String {
        // A caller that has already left has only its name.
        guard let process = try? await bus.processID(of: call.sender) else { return call.sender }
        return "\(call.sender) (process \(process))"
    }

    // MARK: Signals

    private func changed(_ property: String) {
        bus.propertiesChanged(path: BTCallPath.manager, interface: BTCallName.Interface.pairing, [property])
    }

    private func show(_ found: PairingControl.Found) {
        emit(
            BTCallName.Pairing.deviceFound,
            [
                .string("\(found.address)"), .string(found.name ?? ""), .int16(Int16(clamping: found.rssi)),
                .strings(found.profiles),
            ])
    }

    private func show(_ result: PairingWindow.Result) {
        emit(
            BTCallName.Pairing.finished,
            [
                .string(result.address.map { "\($0)" } ?? ""), .string(result.outcome.rawValue),
                .string(result.reason),
            ])
    }

    private func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.manager, interface: BTCallName.Interface.pairing, member: member, arguments)
    }
}
