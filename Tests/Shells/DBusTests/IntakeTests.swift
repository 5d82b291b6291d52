import BluetoothTypes
import ControlLoop
import Glibc
import TestSupport
import Testing

@testable import DBus

private let path = "/org/btcall/test"
private let name = "org.btcall.test.Counter"
private let properties = "org.freedesktop.DBus.Properties"
private let manager = "org.freedesktop.DBus.ObjectManager"

@ControlPlane
private final class ReceivedDescriptors {
    private(set) var all: [PassedDescriptor] = []

    func add(_ descriptor: PassedDescriptor?) { all += [descriptor].compactMap(\.self) }
}

/// Counts received calls.
@ControlPlane
private final class Counter {
    private(set) var asked = 0
    private(set) var done = 0
    private(set) var read = 0

    func export(on bus: BusConnection) {
        bus.export(
            [
                ExportedInterface(
                    name,
                    methods: [
                        .init("Ask", in: [("what", "s")], out: [("answer", "s")], isReading: true) {
                            [weak self] call throws(BusError) in
                            self?.asked += 1
                            return call.arguments
                        },
                        .init("Do") { [weak self] _ throws(BusError) in
                            self?.done += 1
                            return []
                        },
                        .init("Work") { [weak self] _ throws(BusError) in
                            let end = ControlLoop.now.advanced(by: .milliseconds(1))
                            while ControlLoop.now < end {}
                            self?.done += 1
                            return []
                        },
                        .init("Never") { _ throws(BusError) in
                            await ControlLoop.shared.sleep(for: .seconds(60))
                            return []
                        },
                    ],
                    properties: [
                        .init("Open", "s") { [weak self] in
                            self?.read += 1
                            return "open"
                        },
                        .init("Secret", "s", isConfidential: true) { "secret" },
                    ])
            ], at: path)
    }
}

/// Calls of other programs: too many, too long, without a reply, and of confidential properties.
@Suite @ControlPlane
struct IntakeTests {
    private func with(
        _ body: @ControlPlane (_ server: BusConnection, _ address: BusAddress, _ counter: Counter) async throws -> Void
    ) async throws {
        try await PrivateBus.with { bus in
            let server = try BusConnection(bus.address)
            defer { server.close() }
            let counter = Counter()
            counter.export(on: server)
            try await body(server, bus.address, counter)
        }
    }

    @Test func `a query without a reply is dropped, and a command without a reply is carried out`() async throws {
        try await with { server, address, counter in
            server.exportObjectManager(at: "/org/btcall")
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            for _ in 0..<50 {
                client.post(destination, path, name, "Ask", ["x"])
                client.post(destination, path, properties, "Get", [.string(name), "Open"])
                client.post(destination, path, properties, "GetAll", [.string(name)])
                client.post(destination, "/org/btcall", manager, "GetManagedObjects")
                client.post(destination, path, "org.freedesktop.DBus.Introspectable", "Introspect")
                client.post(destination, path, name, "Do")
            }
            #expect(try await client.call(destination, path, name, "Ask", ["y"]) == ["y"])
            #expect(counter.asked == 1)
            #expect(counter.read == 0)
            #expect(counter.done == 50)
        }
    }

    @Test func `a flood of one client does not delay another client's call`() async throws {
        try await with { server, address, counter in
            let (flood, other) = (try BusConnection(address), try BusConnection(address))
            defer {
                flood.close()
                other.close()
            }
            let destination = try #require(server.uniqueName)
            let count = 1000
            for _ in 0..<count { flood.post(destination, path, name, "Work") }
            // The bus has received all of it by now.
            _ = try await flood.owner(of: destination)
            #expect(try await other.call(destination, path, name, "Ask", ["y"]) == ["y"])
            #expect(counter.done < count / 2, "\(counter.done)")
            // All accepted calls are handled; no more than the limit has arrived.
            try await eventually("all are handled", within: .seconds(30)) { counter.done == count }
        }
    }

    @Test func `calls without a reply are started at most eight in ten milliseconds`() async throws {
        try await with { server, address, counter in
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            let begin = ControlLoop.now
            for _ in 0..<400 { client.post(destination, path, name, "Do") }
            try await eventually("all are handled") { counter.done == 400 }
            // 50 spans, less the first one, which may have begun before.
            #expect(begin.duration(to: ControlLoop.now) >= .milliseconds(480))
        }
    }

    @Test func `a client whose queue is full is refused, and another client is not`() async throws {
        try await with { server, address, counter in
            let (flood, other) = (try BusConnection(address), try BusConnection(address))
            defer {
                flood.close()
                other.close()
            }
            let destination = try #require(server.uniqueName)
            let answers = Mailbox<String>()
            let count = 3000
            for _ in 0..<count {
                flood.send(destination, path, name, "Work") { result in
                    switch result {
                    case .success: answers.put("answered")
                    case .failure(let error): answers.put(error.name)
                    }
                }
            }
            #expect(try await other.call(destination, path, name, "Ask", ["y"]) == ["y"])
            let all = await answers.take(count)
            #expect(Set(all) == ["answered", BusError.Name.limitsExceeded])
            #expect(all.count { $0 == "answered" } == counter.done)
        }
    }

    @Test func `waiting calls are counted for each client`() async throws {
        try await with { server, address, _ in
            let (greedy, other) = (try BusConnection(address), try BusConnection(address))
            defer {
                greedy.close()
                other.close()
            }
            let destination = try #require(server.uniqueName)
            let refused = Mailbox<BusError>()
            for _ in 0..<BusConnection.handlersPerSender + 5 {
                greedy.send(destination, path, name, "Never") { result in
                    if case .failure(let error) = result { refused.put(error) }
                }
            }
            let errors = await refused.take(5)
            #expect(errors.allSatisfy { $0.name == BusError.Name.limitsExceeded }, "\(errors)")
            #expect(errors.first?.message.contains("\(BusConnection.handlersPerSender)") == true)
            #expect(try await other.call(destination, path, name, "Ask", ["y"]) == ["y"])
        }
    }

    @Test func `calls without a reply do not count as waiting`() async throws {
        try await with { server, address, _ in
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            for _ in 0..<BusConnection.handlersPerSender * 3 { client.post(destination, path, name, "Never") }
            #expect(try await client.call(destination, path, name, "Ask", ["y"]) == ["y"])
        }
    }

    @Test func `a preferred service is never refused`() async throws {
        try await with { server, address, _ in
            let service = try BusConnection(address)
            defer { service.close() }
            server.prefer("org.btcall.test.Service")
            try await service.requestName("org.btcall.test.Service")
            try await settle(server)
            let destination = try #require(server.uniqueName)
            var refused: [BusError] = []
            for _ in 0..<2 * BusConnection.waitingLimits.perSender {
                service.send(destination, path, name, "Never") { result in
                    if case .failure(let error) = result { refused.append(error) }
                }
            }
            #expect(try await service.call(destination, path, name, "Ask", ["y"]) == ["y"])
            #expect(refused == [])
        }
    }

    @Test func `a text or a list that is too long is refused with what is accepted`() async throws {
        try await with { server, address, counter in
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            let text = Value.string(String(repeating: "x", count: 16_385))
            let error = await #expect(throws: BusError.self) {
                try await client.call(destination, path, name, "Ask", [text])
            }
            #expect(error?.name == BusError.Name.limitsExceeded)
            #expect(error?.message.contains("16384") == true)
            let list = Value.variant(.array("y", Array(repeating: .byte(0), count: 5000)))
            let listError = await #expect(throws: BusError.self) {
                try await client.call(destination, path, properties, "Set", [.string(name), "Open", list])
            }
            #expect(listError?.name == BusError.Name.limitsExceeded)
            #expect(counter.asked == 0)
        }
    }

    @Test func `descriptors for a method without descriptors are refused at once`() async throws {
        try await with { server, address, _ in
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            let descriptor = Value.variant(.unixDescriptor(try PassedDescriptor(duplicating: 1)))
            let error = await #expect(throws: BusError.self) {
                try await client.call(destination, path, properties, "Set", [.string(name), "Open", descriptor])
            }
            #expect(error?.name == BusError.Name.invalidArguments)
            #expect(error?.message.contains("takes no descriptors") == true)
        }
    }

    @Test func `a descriptor in a dictionary reaches a method that says so, and no other`() async throws {
        try await with { server, address, _ in
            let client = try BusConnection(address)
            defer { client.close() }
            let destination = try #require(server.uniqueName)
            let received = ReceivedDescriptors()
            func method(_ name: String, _ takesDescriptors: Bool) -> ExportedInterface.Method {
                .init(name, in: [("options", "a{sv}")], takesDescriptors: takesDescriptors) { call in
                    received.add(call.arguments[0]["out"]?.descriptorValue)
                    return []
                }
            }
            let dictionaries = "org.btcall.test.Dictionaries"
            let interface = ExportedInterface(dictionaries, methods: [method("Taking", true), method("Other", false)])
            server.export([interface], at: "/dictionaries")
            let options = Value.vardict(["out": .unixDescriptor(try PassedDescriptor(duplicating: 1))])
            _ = try await client.call(destination, "/dictionaries", dictionaries, "Taking", [options])
            #expect(received.all.count == 1 && received.all.allSatisfy { fcntl($0.descriptor, F_GETFD) >= 0 })
            let error = await #expect(throws: BusError.self) {
                try await client.call(destination, "/dictionaries", dictionaries, "Other", [options])
            }
            #expect(error?.message.contains("takes no descriptors") == true && received.all.count == 1)
        }
    }

    @Test func `an answer with all objects is reused until something changes`() async throws {
        try await with { server, address, counter in
            server.exportObjectManager(at: "/org/btcall", answerAge: .seconds(60))
            let (client, other) = (try BusConnection(address), try BusConnection(address))
            defer {
                client.close()
                other.close()
            }
            let destination = try #require(server.uniqueName)
            func ask(_ bus: BusConnection) async throws -> [Value] {
                try await bus.call(destination, "/org/btcall", manager, "GetManagedObjects")
            }
            let first = try await ask(client)
            #expect(try await ask(other) == first)
            #expect(counter.read == 1)
            server.propertiesChanged(path: path, interface: name, ["Open"])
            let read = counter.read
            #expect(try await ask(client) == first)
            #expect(try await ask(client) == first)
            #expect(counter.read == read + 1)
            server.unexport(path: path)
            #expect(try await ask(client) == [.dictionary("o", "a{sa{sv}}", [])])
        }
    }

    @Test func `confidential properties are for permitted programs, and left out or refused otherwise`() async throws {
        try await with { server, address, _ in
            server.exportObjectManager(at: "/org/btcall", answerAge: .seconds(60))
            let (reader, other) = (try BusConnection(address), try BusConnection(address))
            defer {
                reader.close()
                other.close()
            }
            let destination = try #require(server.uniqueName)
            func all(_ bus: BusConnection) async throws -> [Value] {
                try await bus.call(destination, path, properties, "GetAll", [.string(name)])
            }
            func objects(_ bus: BusConnection) async throws -> Value? {
                let answer = try await bus.call(destination, "/org/btcall", manager, "GetManagedObjects")
                return answer.first?[path]?[name]
            }
            let full = Value.vardict(["Open": "open", "Secret": "secret"])
            let open = Value.vardict(["Open": "open"])
            #expect(try await all(other) == [full])
            let readerName = try #require(reader.uniqueName)
            server.readers = ConfidentialReaders("friends") { $0 == readerName }
            #expect(try await all(reader) == [full])
            #expect(try await all(other) == [open])
            #expect(try await objects(other) == open)
            #expect(try await objects(reader) == full)
            #expect(try await objects(other) == open)
            let get: [Value] = [.string(name), "Secret"]
            #expect(try await reader.call(destination, path, properties, "Get", get) == [.variant("secret")])
            let error = await #expect(throws: BusError.self) {
                try await other.call(destination, path, properties, "Get", get)
            }
            #expect(error?.name == BusError.Name.accessDenied)
            #expect(error?.message.contains("friends") == true)
        }
    }

    @Test func `signals name confidential properties without their values`() async throws {
        try await with { server, address, counter in
            server.exportObjectManager(at: "/org/btcall")
            server.readers = ConfidentialReaders("nobody") { _ in false }
            let client = try BusConnection(address)
            defer { client.close() }
            let signals = Mailbox<BusSignal>()
            client.subscribe(sender: server.uniqueName) { signals.put($0) }
            try await settle(client)
            server.propertiesChanged(path: path, interface: name, ["Open", "Secret"])
            server.unexport(path: path)
            counter.export(on: server)
            let heard = await signals.take(3)
            #expect(
                heard.first?.arguments == [.string(name), .vardict(["Open": "open"]), .strings(["Secret"])])
            #expect(
                heard.last?.arguments.last
                    == .dictionary("s", "a{sv}", [DictionaryEntry(.string(name), .vardict(["Open": "open"]))]))
        }
    }

    @Test func `the bus is asked once for a client's credentials`() async throws {
        try await with { server, address, _ in
            let client = try BusConnection(address)
            defer { client.close() }
            let name = try #require(client.uniqueName)
            let credentials = try await server.credentials(of: name)
            #expect(credentials.user == getuid())
            #expect(try await server.credentials(of: name) == credentials)
            client.close()
            // Known also after its departure: its name is never reused.
            #expect(try await server.credentials(of: name) == credentials)
            await #expect(throws: BusError.self) { try await server.credentials(of: ":1.4711") }
        }
    }
}
