import BTCallAPI
import BluetoothTypes
package import ControlLoop
package import DBus
import HeadsetPolicy

/// `org.btcall.Pairing1` at `/org/btcall`.
@ControlPlane
package final class PairingObject {
    private let bus: BusConnection

    package init(bus: BusConnection, pairing: PairingControl) {
        self.bus = bus
        typealias Name = BTCallName.Pairing
        let interface = ExportedInterface(
            BTCallName.Interface.pairing,
            methods: [
                .init(Name.open, in: [("seconds", "u"), ("options", "a{sv}")]) { call async throws(BusError) in
                    let who = await Self.caller(call, bus)
                    return try await asyncReply { () async throws(APIError) in
                        let options = try PairingOptions(try Fields(argument(call, 1), of: "the options of Open"))
                        try await pairing.open(
                            seconds: argument(call, 0).integerValue ?? 0,
                            allow: options.allow, pin: options.pin, by: who)
                    }
                },
                .init(Name.close) { call async throws(BusError) in
                    let who = await Self.caller(call, bus)
                    return try await asyncReply { () async throws(APIError) in try pairing.close(by: who) }
                },
                .init(Name.scan, in: [("seconds", "u")]) { call async throws(BusError) in
                    let who = await Self.caller(call, bus)
                    return try await asyncReply { () async throws(APIError) in
                        try pairing.scan(seconds: argument(call, 0).integerValue ?? 0, by: who)
                    }
                },
                .init(Name.trust, in: [("address", "s"), ("trusted", "b")]) { call async throws(BusError) in
                    let who = await Self.caller(call, bus)
                    return try await asyncReply { () async throws(APIError) in
                        let address = try Self.address(call)
                        try await pairing.trust(address, argument(call, 1).boolValue ?? false, by: who)
                    }
                },
                .init(Name.forget, in: [("address", "s")]) { call async throws(BusError) in
                    let who = await Self.caller(call, bus)
                    return try await asyncReply { () async throws(APIError) in
                        try await pairing.forget(try Self.address(call), by: who)
                    }
                },
            ],
            signals: [
                .init(Name.deviceFound, [("address", "s"), ("name", "s"), ("rssi", "n"), ("profiles", "as")]),
                .init(Name.finished, [("address", "s"), ("outcome", "s"), ("reason", "s")]),
            ],
            properties: [
                .init(Name.state, "s", get: { .string(pairing.state.rawValue) }),
                .init(
                    Name.secondsLeft, "u", changes: .silent,
                    get: { .uint32(UInt32(clamping: pairing.secondsLeft)) }),
            ])
        bus.export([interface], at: BTCallPath.manager)
        pairing.onState = {
            bus.propertiesChanged(path: BTCallPath.manager, interface: BTCallName.Interface.pairing, [Name.state])
        }
        pairing.onFound = { [weak self] found in
            self?.emit(
                Name.deviceFound,
                [
                    .string("\(found.address)"), .string(found.name ?? ""), .int16(Int16(clamping: found.rssi)),
                    .strings(found.profiles),
                ])
        }
        pairing.onFinished = { [weak self] result in
            self?.emit(
                Name.finished,
                [
                    .string(result.address.map { "\($0)" } ?? ""), .string(result.outcome.rawValue),
                    .string(result.reason),
                ])
        }
    }

    private func emit(_ member: String, _ arguments: [Value]) {
        bus.emit(path: BTCallPath.manager, interface: BTCallName.Interface.pairing, member: member, arguments)
    }

    /// Who asks, for the log.
    private static func caller(_ call: MethodCall, _ bus: BusConnection) async -> String {
        // One that has left already is known by its name alone.
        guard let process = try? await bus.processID(of: call.sender) else { return call.sender }
        return "\(call.sender) (process \(process))"
    }

    private static func address(_ call: MethodCall) throws(APIError) -> BluetoothAddress {
        let word = try text(call, 0, "address", .word)
        guard let address = BluetoothAddress(word) else {
            throw APIError(
                .invalidArgument,
                "\"\(word)\" is no Bluetooth address; accepted: six octets like 00:14:09:12:34:56")
        }
        return address
    }
}
