import BluetoothTypes
import ControlLoop
import Glibc
import TestSupport
import Testing

@testable import DBus

private let echoPath = "/org/btcall/test"
private let echoName = "org.btcall.test.Echo"

/// An object that echoes its arguments, with some wrong ways to answer.
@ControlPlane
private func exportEcho(on bus: BusConnection) {
    bus.export(
        [
            ExportedInterface(
                echoName,
                methods: [
                    .init("Echo", in: [("value", "v")], out: [("value", "v")]) { call throws(BusError) in
                        call.arguments
                    },
                    .init("Fail", in: [("name", "s"), ("message", "s")]) { call throws(BusError) in
                        throw BusError(
                            name: call.arguments[0].stringValue ?? "", message: call.arguments[1].stringValue ?? "")
                    },
                    .init("Never") { _ throws(BusError) in
                        await ControlLoop.shared.sleep(for: .seconds(60))
                        return []
                    },
                    .init("Wrong", out: [("number", "u")]) { _ throws(BusError) in [.string("not a number")] },
                    .init("Invalid", out: [("path", "o")]) { _ throws(BusError) in [.objectPath("no path")] },
                    .init("Descriptor", in: [("in", "h")], out: [("out", "h")]) { call throws(BusError) in
                        call.arguments
                    },
                ])
        ], at: echoPath)
}

@ControlPlane
private func name(_ bus: BusConnection) throws -> String { try #require(bus.uniqueName) }

@Suite @ControlPlane
struct BusConnectionCallTests {
    @Test func `a call returns the peer's answer`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let reply = try await client.call(try name(server), echoPath, echoName, "Echo", [.variant("hello")])
            #expect(reply == [.variant("hello")])
        }
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `random values of random types come back unchanged`(seed: UInt64) async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            var random = SeededGenerator(seed: seed)
            for _ in 0..<50 {
                let type = SignatureTests.type(depth: 4, &random)
                guard type.description.utf8.count <= 255 else { continue }
                let value = Value.variant(randomValue(type, depth: 4, &random))
                let reply = try await client.call(try name(server), echoPath, echoName, "Echo", [value])
                #expect(reply == [value])
            }
        }
    }

    @Test func `an error thrown by the handler reaches the caller with name and text`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let error = await #expect(throws: BusError.self) {
                try await client.call(
                    try name(server), echoPath, echoName, "Fail", ["org.btcall.Error.Test", "because"])
            }
            #expect(error == BusError(name: "org.btcall.Error.Test", message: "because"))
            // An invalid error name is the handler's fault.
            let fault = await #expect(throws: BusError.self) {
                try await client.call(try name(server), echoPath, echoName, "Fail", ["no name", "because"])
            }
            #expect(fault?.name == BusError.Name.fault)
        }
    }

    @Test(arguments: ["Wrong", "Invalid"])
    func `a result that does not fit its declaration is answered as our fault`(member: String) async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let error = await #expect(throws: BusError.self) {
                try await client.call(try name(server), echoPath, echoName, member)
            }
            #expect(error?.name == BusError.Name.fault)
        }
    }

    @Test func `a call without an answer ends at its timeout`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let start = ControlLoop.now
            let error = await #expect(throws: BusError.self) {
                try await client.call(try name(server), echoPath, echoName, "Never", timeout: .milliseconds(50))
            }
            #expect(error?.name == BusError.Name.noReply)
            #expect(start.duration(to: ControlLoop.now) >= .milliseconds(50))
            #expect(client.pending.isEmpty)
        }
    }

    @Test func `a call ends when its task is cancelled`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let destination = try name(server)
            let task = Task { @ControlPlane in
                try await client.call(destination, echoPath, echoName, "Never")
            }
            try await settle(client)
            #expect(client.pending.count == 1)
            task.cancel()
            let error = await #expect(throws: BusError.self) { try await task.value }
            #expect(error == .cancelled)
            #expect(client.pending.isEmpty)
        }
    }

    @Test func `invalid names and values are refused before they are sent`() async throws {
        try await PrivateBus.with { bus in
            let client = try BusConnection(bus.address)
            defer { client.close() }
            var deep = Value.byte(1)
            for _ in 0..<1000 { deep = .variant(deep) }
            let wrong: [Value] = [
                .objectPath("no/path"), .objectPath("/a/"), .string("zero \0 byte"), .signature("a{"), deep,
                .array("s", [.uint32(1)]), .array("nonsense(", []), .dictionary("v", "s", []), .structure([]),
                .array("as", [.array("u", [])]), .dictionary("s", "u", [.init("a", "b")]),
                .unixDescriptor(PassedDescriptor(taking: -1)), .variant(.structure([])),
                .structure(Array(repeating: .byte(0), count: 300)),
            ]
            for value in wrong {
                await #expect(throws: BusError.self, "\(value)") {
                    try await client.call(":1.0", "/", "a.b", "C", [value])
                }
            }
            let names = [
                ("no name", "/", "a.b", "C"), ("a.b", "", "a.b", "C"), ("a.b", "/", "ab", "C"),
                ("a.b", "/", "a.b", "C.D"),
                ("a.b\0", "/", "a.b", "C"), ("", "", "", ""),
            ]
            for (destination, path, interface, member) in names {
                let error = await #expect(throws: BusError.self) {
                    try await client.call(destination, path, interface, member)
                }
                #expect(error?.name == BusError.Name.invalidArguments)
            }
            client.emit(path: "no path", interface: "a.b", member: "C")
            client.post("no name", "/", "a.b", "C")
            client.export([ExportedInterface("no-name")], at: "/a")
            client.export([ExportedInterface("a.b")], at: "no path")
            client.subscribe(sender: "no name") { _ in }
            client.watchName("") { _ in }
            _ = try await client.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping")
        }
    }

    @Test func `a destination without an owner is an error`() async throws {
        try await PrivateBus.with { bus in
            let client = try BusConnection(bus.address)
            defer { client.close() }
            let error = await #expect(throws: BusError.self) {
                try await client.call("org.btcall.test.Nobody", "/", "a.b", "C")
            }
            #expect(error?.name == BusError.Name.serviceUnknown)
        }
    }

    @Test func `a thousand calls in flight are all answered, each with its own reply`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let destination = try name(server)
            let mailbox = Mailbox<UInt32>()
            for index in 0..<1000 as Range<UInt32> {
                client.send(destination, echoPath, echoName, "Echo", [.variant(.uint32(index))]) { result in
                    if case .success(let values) = result, values == [.variant(.uint32(index))] { mailbox.put(index) }
                }
            }
            #expect(await mailbox.take(1000) == Array(0..<1000))
        }
    }

    @Test func `a descriptor is passed there and back, and the copies are closed`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            var ends: [Int32] = [0, 0]
            #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            do {
                let sent = PassedDescriptor(taking: ends[0])
                let reply = try await client.call(
                    try name(server), echoPath, echoName, "Descriptor", [.unixDescriptor(sent)])
                let received = try #require(reply.first?.descriptorValue)
                #expect(received.descriptor != ends[0])
                #expect(fcntl(received.descriptor, F_GETFD) & FD_CLOEXEC != 0)
                #expect(write(received.descriptor, "x", 1) == 1)
            }
            var bytes = [UInt8](repeating: 0, count: 2)
            #expect(read(ends[1], &bytes, 1) == 1)
            // The server's copies go when its task has ended: then the other end sees the end.
            let mailbox = Mailbox<Readiness>()
            let source = try ControlLoop.shared.add(ends[1], .readable) { mailbox.put($0) }
            _ = await mailbox.take()
            source.cancel()
            #expect(read(ends[1], &bytes, 1) == 0)
            close(ends[1])
        }
    }

    @Test func `an address without a bus is an error with a name`() {
        #expect(throws: BusError.self) { try BusConnection(.address("unix:path=/nowhere/bus")) }
        #expect(throws: BusError.self) { try BusConnection(.address("nonsense:")) }
        #expect(throws: BusError.self) { try BusConnection(.address("zero:\0")) }
    }

    @Test func `after close nothing arrives and calls fail`() async throws {
        try await PrivateBus.withConnections { server, client in
            exportEcho(on: server)
            let destination = try name(server)
            let task = Task { @ControlPlane in try await client.call(destination, echoPath, echoName, "Never") }
            try await settle(client)
            client.close()
            let pending = await #expect(throws: BusError.self) { try await task.value }
            let error = await #expect(throws: BusError.self) {
                try await client.call(destination, echoPath, echoName, "Echo", [.variant("x")])
            }
            #expect(pending?.name == BusError.Name.disconnected)
            #expect(error?.name == BusError.Name.disconnected)
            client.close()
        }
    }

    private func randomValue(
        _ type: Signature.CompleteType, depth: Int, _ random: inout SeededGenerator
    ) -> Value {
        let count = depth > 0 ? Int.random(in: 0..<4, using: &random) : 0
        return switch type {
        case .byte: .byte(.random(in: .min ... .max, using: &random))
        case .boolean: .bool(.random(using: &random))
        case .int16: .int16(.random(in: .min ... .max, using: &random))
        case .uint16: .uint16(.random(in: .min ... .max, using: &random))
        case .int32: .int32(.random(in: .min ... .max, using: &random))
        case .uint32: .uint32(.random(in: .min ... .max, using: &random))
        case .int64: .int64(.random(in: .min ... .max, using: &random))
        case .uint64: .uint64(.random(in: .min ... .max, using: &random))
        case .double: .double(.random(in: -1e9...1e9, using: &random))
        case .string: .string(["", "a", "äöü 🎧", "a\nb"].randomElement(using: &random) ?? "")
        case .objectPath: .objectPath(["/", "/a", "/a/b_1"].randomElement(using: &random) ?? "/")
        case .signature: .signature(["", "a{sv}", "(ii)"].randomElement(using: &random) ?? "")
        case .unixDescriptor: .byte(0)
        case .variant:
            .variant(randomValue(SignatureTests.type(depth: depth - 1, &random), depth: depth - 1, &random))
        case .array(let element):
            .array(element.description, (0..<count).map { _ in randomValue(element, depth: depth - 1, &random) })
        case .structure(let members):
            .structure(members.map { randomValue($0, depth: depth - 1, &random) })
        case .dictionary(let key, let value):
            .dictionary(
                key.description, value.description,
                (0..<count).map { _ in
                    DictionaryEntry(
                        randomValue(key, depth: 0, &random), randomValue(value, depth: depth - 1, &random))
                })
        }
    }
}
