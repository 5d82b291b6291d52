import BluetoothTypes
import ControlLoop
import Glibc
import TestSupport
import Testing

@testable import DBus

/// A round trip to the bus: earlier messages have been handled there, and their answers have arrived.
@ControlPlane
func settle(_ connections: BusConnection...) async throws {
    for connection in connections {
        _ = try await connection.call("org.freedesktop.DBus", "/", "org.freedesktop.DBus.Peer", "Ping")
    }
}

@Suite @ControlPlane
struct BusConnectionSignalTests {
    @Test func `signals arrive in order, with sender and arguments, until the subscription is cancelled`() async throws
    {
        try await PrivateBus.withConnections { sender, receiver in
            let mailbox = Mailbox<BusSignal>()
            let subscription = receiver.subscribe(interface: "a.b", member: "C") { mailbox.put($0) }
            try await settle(receiver)
            for index in 0..<100 as Range<UInt32> {
                sender.emit(path: "/p", interface: "a.b", member: "C", [.uint32(index)])
            }
            let signals = await mailbox.take(100)
            #expect(signals.map(\.arguments) == (0..<100).map { [.uint32($0)] })
            #expect(signals.allSatisfy { $0.sender == sender.uniqueName && $0.path == "/p" })
            subscription.cancel()
            subscription.cancel()
            sender.emit(path: "/p", interface: "a.b", member: "C")
            try await settle(sender, receiver)
            #expect(mailbox.elements.isEmpty)
        }
    }

    @Test func `a subscription receives only signals that match its rule`() async throws {
        try await PrivateBus.withConnections { sender, receiver in
            let mailbox = Mailbox<String>()
            receiver.subscribe(path: "/a") { mailbox.put("path \($0.path)") }
            receiver.subscribe(pathNamespace: "/a") { mailbox.put("namespace \($0.path)") }
            receiver.subscribe(interface: "a.b", argument0: "x") { mailbox.put("argument \($0.path)") }
            receiver.subscribe(sender: receiver.uniqueName, interface: "a.b") { mailbox.put("sender \($0.path)") }
            try await settle(receiver)
            for path in ["/a", "/a/b", "/ab"] {
                sender.emit(path: path, interface: "a.b", member: "C", [.string(path == "/ab" ? "x" : "y")])
            }
            try await settle(sender, receiver)
            #expect(await mailbox.take(4) == ["path /a", "namespace /a", "namespace /a/b", "argument /ab"])
        }
    }

    @Test func `only signals of a well-known name's owner are delivered`() async throws {
        try await PrivateBus.withConnections { sender, receiver in
            let mailbox = Mailbox<String>()
            try await sender.requestName("org.btcall.test.Name")
            receiver.subscribe(sender: "org.btcall.test.Name", interface: "a.b") { mailbox.put($0.member) }
            // Delivers the impostor's signals here as well.
            receiver.subscribe(interface: "a.b") { _ in }
            try await settle(receiver)
            receiver.emit(path: "/", interface: "a.b", member: "Impostor")
            sender.emit(path: "/", interface: "a.b", member: "Owner")
            try await settle(sender, receiver)
            #expect(await mailbox.take() == ["Owner"])
            sender.releaseName("org.btcall.test.Name")
            try await receiver.requestName("org.btcall.test.Name")
            receiver.emit(path: "/", interface: "a.b", member: "NewOwner")
            sender.emit(path: "/", interface: "a.b", member: "FormerOwner")
            try await settle(sender, receiver)
            #expect(await mailbox.take() == ["NewOwner"])
        }
    }

    @Test func `a directed signal reaches only its destination`() async throws {
        try await PrivateBus.withConnections { sender, receiver in
            let mailbox = Mailbox<String>()
            receiver.subscribe(interface: "a.b") { mailbox.put($0.member) }
            sender.subscribe(interface: "a.b") { mailbox.put("own \($0.member)") }
            try await settle(receiver, sender)
            sender.emit(path: "/", interface: "a.b", member: "C", destination: receiver.uniqueName)
            try await settle(sender, receiver)
            #expect(await mailbox.take() == ["C"])
        }
    }

    // MARK: Names

    @Test func `a watched name reports its owner first and then each change`() async throws {
        try await PrivateBus.withConnections { owner, watcher in
            let mailbox = Mailbox<String?>()
            watcher.watchName("org.btcall.test.Name") { mailbox.put($0) }
            #expect(await mailbox.take() == [nil])
            try await owner.requestName("org.btcall.test.Name")
            #expect(await mailbox.take() == [owner.uniqueName])
            let second = Mailbox<String?>()
            let subscription = watcher.watchName("org.btcall.test.Name") { second.put($0) }
            #expect(second.elements.isEmpty)
            #expect(await second.take() == [owner.uniqueName])
            subscription.cancel()
            owner.close()
            #expect(await mailbox.take() == [nil])
            #expect(second.elements.isEmpty)
        }
    }

    @Test func `a taken name is refused, naming owner and process`() async throws {
        try await PrivateBus.withConnections { first, second in
            try await first.requestName("org.btcall.test.Name")
            try await first.requestName("org.btcall.test.Name")
            let error = await #expect(throws: BusError.self) { try await second.requestName("org.btcall.test.Name") }
            #expect(error?.name == BusError.Name.nameTaken)
            #expect(
                error?.message == "org.btcall.test.Name is owned by \(first.uniqueName ?? "") (process \(getpid()))")
            #expect(try await second.owner(of: "org.btcall.test.Name") == first.uniqueName)
            #expect(try await second.userID(of: "org.btcall.test.Name") == getuid())
            first.releaseName("org.btcall.test.Name")
            try await settle(first)
            try await second.requestName("org.btcall.test.Name")
        }
    }

    @Test func `a name that the policy denies is an error`() async throws {
        try await PrivateBus.withConnections { first, _ in
            let error = await #expect(throws: BusError.self) {
                try await first.requestName("org.btcall.test.Forbidden")
            }
            #expect(error?.name == BusError.Name.accessDenied)
        }
    }

    // MARK: The bus leaves and comes back

    @Test func `names, objects, subscriptions and watches are restored after a restart of the bus`() async throws {
        try await PrivateBus.with { bus in
            let (server, client) = (try BusConnection(bus.address), try BusConnection(bus.address))
            defer {
                server.close()
                client.close()
            }
            let states = Mailbox<String>()
            server.onStateChange = { states.put("server \($0)") }
            client.onStateChange = { states.put("client \($0)") }
            let owners = Mailbox<String?>()
            let signals = Mailbox<String>()
            try await server.requestName("org.btcall.test.Name")
            server.export(
                [
                    ExportedInterface(
                        "a.b",
                        methods: [
                            .init("Ask", out: [("answer", "u")]) { _ throws(BusError) in [.uint32(42)] },
                            .init("Never") { _ throws(BusError) in
                                await ControlLoop.shared.sleep(for: .seconds(60))
                                return []
                            },
                        ])
                ], at: "/a")
            client.watchName("org.btcall.test.Name") { owners.put($0) }
            client.subscribe(sender: "org.btcall.test.Name", interface: "a.b") { signals.put($0.member) }
            #expect(await owners.take() == [server.uniqueName])

            let pending = Task { @ControlPlane in
                try await client.call("org.btcall.test.Name", "/a", "a.b", "Never")
            }
            try await settle(client)
            bus.kill()
            let error = await #expect(throws: BusError.self) { try await pending.value }
            #expect(error?.name == BusError.Name.disconnected)
            #expect(Set(await states.take(2)) == ["server disconnected", "client disconnected"])
            #expect(await owners.take() == [nil])
            #expect(server.uniqueName == nil)
            let refused = await #expect(throws: BusError.self) {
                try await client.call("org.btcall.test.Name", "/a", "a.b", "Ask")
            }
            #expect(refused?.name == BusError.Name.disconnected)
            let attempts = Mailbox<Bool>()
            server.onFailedAttempt = { attempts.put(true) }
            _ = await attempts.take()

            try await bus.start()
            #expect(Set(await states.take(2)) == ["server connected", "client connected"])
            while await owners.take().last != .some(server.uniqueName) {}
            #expect(try await client.call("org.btcall.test.Name", "/a", "a.b", "Ask") == [.uint32(42)])
            server.emit(path: "/a", interface: "a.b", member: "Again")
            #expect(await signals.take() == ["Again"])
        }
    }
}
