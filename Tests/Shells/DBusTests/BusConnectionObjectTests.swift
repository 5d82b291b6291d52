import BluetoothTypes
import ControlLoop
import Foundation
import TestSupport
import Testing

@testable import DBus

private let properties = "org.freedesktop.DBus.Properties"

/// State of the exported object.
@ControlPlane
private final class Model {
    var volume: UInt32 = 7
    var wrong: Value = .uint32(1)

    func interface(_ bus: BusConnection) -> ExportedInterface {
        ExportedInterface(
            "org.btcall.test.Model",
            methods: [
                .init("Add", in: [("left", "i"), ("right", "i")], out: [("sum", "i")]) { call throws(BusError) in
                    [.int32((call.arguments[0].int32Value ?? 0) &+ (call.arguments[1].int32Value ?? 0))]
                },
                .init("Reverse", in: [("texts", "as")], out: [("texts", "as")]) { call throws(BusError) in
                    [.strings((call.arguments[0].stringsValue ?? []).reversed())]
                },
            ],
            signals: [.init("Rang", [("number", "s")])],
            properties: [
                .init("Volume", "u", get: { .uint32(self.volume) }) { value throws(BusError) in
                    guard let volume = value.uint32Value, volume <= 15 else {
                        throw .invalidArguments("a volume is 0 to 15")
                    }
                    self.volume = volume
                    bus.propertiesChanged(path: "/m/one", interface: "org.btcall.test.Model", ["Volume", "Big"])
                },
                .init("Name", "s", changes: .constant, get: { "model" }),
                .init("Big", "ay", changes: .invalidated, get: { .bytes([1, 2, 3]) }),
            ])
    }
}

@Suite @ControlPlane
struct BusConnectionObjectTests {
    private func withModel(
        _ body: @ControlPlane (_ server: BusConnection, _ client: BusConnection, _ name: String) async throws -> Void
    ) async throws {
        try await PrivateBus.withConnections { server, client in
            let model = Model()
            server.exportObjectManager(at: "/m")
            server.export([model.interface(server)], at: "/m/one")
            // Its signals are sent before anybody subscribes.
            try await settle(server)
            try await body(server, client, try #require(server.uniqueName))
        }
    }

    @Test func `properties are read one by one and all together`() async throws {
        try await withModel { _, client, name in
            let get = try await client.call(name, "/m/one", properties, "Get", ["org.btcall.test.Model", "Volume"])
            #expect(get == [.variant(.uint32(7))])
            let all = try await client.call(name, "/m/one", properties, "GetAll", ["org.btcall.test.Model"])
            #expect(all == [.vardict(["Volume": .uint32(7), "Name": "model", "Big": .bytes([1, 2, 3])])])
        }
    }

    @Test func `setting a property changes it and signals the change`() async throws {
        try await withModel { _, client, name in
            let mailbox = Mailbox<BusSignal>()
            client.subscribe(sender: name, path: "/m/one", member: "PropertiesChanged") { mailbox.put($0) }
            try await settle(client)
            _ = try await client.call(
                name, "/m/one", properties, "Set", ["org.btcall.test.Model", "Volume", .variant(.uint32(9))])
            #expect(
                await mailbox.take().map(\.arguments)
                    == [["org.btcall.test.Model", .vardict(["Volume": .uint32(9)]), .strings(["Big"])]])
        }
    }

    @Test func `every invalid call gets an error that says what is expected`() async throws {
        try await withModel { _, client, name in
            let cases: [(String, String, String, [Value], String)] = [
                ("/m/two", "org.btcall.test.Model", "Add", [], BusError.Name.unknownObject),
                ("/m/one", "org.btcall.test.Other", "Add", [], BusError.Name.unknownInterface),
                ("/m/one", "org.btcall.test.Model", "Subtract", [], BusError.Name.unknownMethod),
                ("/m/one", "org.btcall.test.Model", "Add", ["1", "2"], BusError.Name.invalidArguments),
                ("/m/one", "org.btcall.test.Model", "Add", [.int32(1)], BusError.Name.invalidArguments),
                ("/m/one", properties, "Get", ["org.btcall.test.Other", "x"], BusError.Name.unknownInterface),
                ("/m/one", properties, "Get", ["org.btcall.test.Model", "x"], BusError.Name.unknownProperty),
                ("/m/one", properties, "Get", ["org.btcall.test.Model"], BusError.Name.invalidArguments),
                ("/m/one", properties, "GetAll", ["org.btcall.test.Other"], BusError.Name.unknownInterface),
                (
                    "/m/one", properties, "Set", ["org.btcall.test.Model", "Name", .variant("x")],
                    BusError.Name.propertyReadOnly
                ),
                (
                    "/m/one", properties, "Set", ["org.btcall.test.Model", "Volume", .variant("x")],
                    BusError.Name.invalidArguments
                ),
                (
                    "/m/one", properties, "Set", ["org.btcall.test.Model", "Volume", .variant(.uint32(16))],
                    BusError.Name.invalidArguments
                ),
            ]
            for (path, interface, member, arguments, expected) in cases {
                let error = await #expect(throws: BusError.self) {
                    try await client.call(name, path, interface, member, arguments)
                }
                #expect(error?.name == expected, "\(path) \(interface).\(member)")
            }
            let error = await #expect(throws: BusError.self) {
                try await client.call(name, "/m/one", "org.btcall.test.Model", "Add", ["1"])
            }
            #expect(error?.message == "org.btcall.test.Model.Add: expected 'ii', got 's'")
        }
    }

    @Test func `a property of a wrong type is our fault, and left out of GetAll`() async throws {
        try await PrivateBus.withConnections { server, client in
            server.export(
                [
                    ExportedInterface(
                        "a.b",
                        properties: [
                            .init("Wrong", "u", get: { "text" }), .init("Right", "u", get: { .uint32(1) }),
                        ])
                ], at: "/a")
            let name = try #require(server.uniqueName)
            let error = await #expect(throws: BusError.self) {
                try await client.call(name, "/a", properties, "Get", ["a.b", "Wrong"])
            }
            #expect(error?.name == BusError.Name.fault)
            let all = try await client.call(name, "/a", properties, "GetAll", ["a.b"])
            #expect(all == [.vardict(["Right": .uint32(1)])])
        }
    }

    @Test func `an object manager lists the objects below it and signals when they come and go`() async throws {
        try await withModel { server, client, name in
            let manager = "org.freedesktop.DBus.ObjectManager"
            let mailbox = Mailbox<[Value]>()
            client.subscribe(sender: name, path: "/m", interface: manager) {
                mailbox.put([.string($0.member)] + $0.arguments)
            }
            try await settle(client)
            let small = ExportedInterface("a.b", properties: [.init("P", "s", get: { "v" })])
            server.export([small], at: "/m/one/two")
            server.export([small], at: "/elsewhere")
            let described = Value.dictionary("s", "a{sv}", [DictionaryEntry("a.b", .vardict(["P": "v"]))])
            #expect(await mailbox.take() == [["InterfacesAdded", .objectPath("/m/one/two"), described]])
            let objects = try await client.call(name, "/m", manager, "GetManagedObjects")
            #expect(objects.first?.typeSignature == "a{oa{sa{sv}}}")
            #expect(objects.first?.entries?.map(\.key) == [.objectPath("/m/one"), .objectPath("/m/one/two")])
            #expect(objects.first?.entries?.last?.value == described)
            server.unexport(path: "/m/one/two")
            server.unexport(path: "/m/one/two")
            server.unexport(path: "/m/one", interface: "org.btcall.test.Model")
            #expect(
                await mailbox.take(2) == [
                    ["InterfacesRemoved", .objectPath("/m/one/two"), .strings(["a.b"])],
                    ["InterfacesRemoved", .objectPath("/m/one"), .strings(["org.btcall.test.Model"])],
                ])
            let empty = try await client.call(name, "/m", manager, "GetManagedObjects")
            #expect(empty == [.dictionary("o", "a{sa{sv}}", [])])
        }
    }

    @Test func `an object manager has only the objects with its own interfaces`() async throws {
        try await PrivateBus.withConnections { server, client in
            let name = try #require(server.uniqueName)
            let manager = "org.freedesktop.DBus.ObjectManager"
            var told: [Value] = []
            let signals = client.subscribe(sender: name, path: "/m", interface: manager) { signal in
                told.append(signal.arguments[0])
            }
            defer { signals.cancel() }
            // The bus knows the subscription before anything is exported.
            _ = try await client.processID(of: name)
            server.exportObjectManager(at: "/m", of: "a.")
            server.export([ExportedInterface("other.I", methods: [.init("M") { _ in [] }])], at: "/m/other")
            server.export([ExportedInterface("a.I"), ExportedInterface("other.I")], at: "/m/own")
            let objects = try await client.call(name, "/m", manager, "GetManagedObjects")
            #expect(objects.first?.entries?.map(\.key) == [.objectPath("/m/own")])
            // A client that knows the path finds it.
            #expect(try await client.call(name, "/m/other", "other.I", "M").isEmpty)
            server.unexport(path: "/m/other")
            server.unexport(path: "/m/own")
            _ = try await client.call(name, "/m", manager, "GetManagedObjects")
            #expect(told == [.objectPath("/m/own"), .objectPath("/m/own")])
        }
    }

    @Test func `introspection describes the object and its children`() async throws {
        try await withModel { _, client, name in
            func xml(_ path: String) async throws -> String {
                try await client.call(name, path, "org.freedesktop.DBus.Introspectable", "Introspect").first?
                    .stringValue ?? ""
            }
            let own = try await xml("/m/one")
            #expect(
                own.contains(
                    """
                      <interface name="org.btcall.test.Model">
                        <method name="Add">
                          <arg name="left" type="i" direction="in"/>
                          <arg name="right" type="i" direction="in"/>
                          <arg name="sum" type="i" direction="out"/>
                        </method>
                        <method name="Reverse">
                          <arg name="texts" type="as" direction="in"/>
                          <arg name="texts" type="as" direction="out"/>
                        </method>
                        <signal name="Rang">
                          <arg name="number" type="s"/>
                        </signal>
                        <property name="Volume" type="u" access="readwrite"/>
                        <property name="Name" type="s" access="read">
                          <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="const"/>
                        </property>
                        <property name="Big" type="ay" access="read">
                          <annotation name="org.freedesktop.DBus.Property.EmitsChangedSignal" value="invalidates"/>
                        </property>
                      </interface>
                    """))
            #expect(own.contains("org.freedesktop.DBus.Peer"))
            #expect(try await xml("/").contains("<node name=\"m\"/>"))
            #expect(try await xml("/m").contains("<node name=\"one\"/>"))
            #expect(try await xml("/m").contains("GetManagedObjects"))
            for path in ["/", "/m", "/m/one"] {
                let tags = TagBalance(try await xml(path))
                #expect(tags.isWellFormed, "\(path)")
            }
        }
    }

    // MARK: A foreign implementation

    nonisolated static let hasPython = FileManager.default.fileExists(
        atPath: "/usr/lib/python3/dist-packages/dbus/__init__.py")
    private static let script =
        String(#filePath.dropLast("BusConnectionObjectTests.swift".count)) + "Fixtures/foreign.py"

    @Test(.enabled(if: hasPython, "python3-dbus is not installed"))
    func `python-dbus as a client can use our object`() async throws {
        try await PrivateBus.with { bus in
            let server = try BusConnection(bus.address)
            defer { server.close() }
            let model = Model()
            server.exportObjectManager(at: "/m")
            server.export([model.interface(server)], at: "/m/one")
            server.export(
                [
                    ExportedInterface(
                        "org.btcall.test.Descriptor",
                        methods: [
                            .init("Write", in: [("descriptor", "h"), ("text", "s")]) { call throws(BusError) in
                                let text = call.arguments[1].stringValue ?? ""
                                _ = write(call.arguments[0].descriptorValue?.descriptor ?? -1, text, text.utf8.count)
                                return []
                            }
                        ])
                ], at: "/m/one")
            try await server.requestName("org.btcall.test.Name")
            let client = try ChildProcess(["/usr/bin/python3", Self.script, "client", bus.address.description])
            #expect(await client.status() == 0)
            #expect(client.lines.elements == ["ok"])
            #expect(model.volume == 3)
        }
    }

    @Test(.enabled(if: hasPython, "python3-dbus is not installed"))
    func `python-dbus as a server receives calls, answers and signals`() async throws {
        try await PrivateBus.with { bus in
            let client = try BusConnection(bus.address)
            defer { client.close() }
            let server = try ChildProcess(["/usr/bin/python3", Self.script, "server", bus.address.description])
            defer { server.kill() }
            #expect(await server.lines.take() == ["ready"])
            let mailbox = Mailbox<BusSignal>()
            client.subscribe(sender: "org.btcall.test.Python", interface: "org.btcall.test.Python") {
                mailbox.put($0)
            }
            let reply = try await client.call(
                "org.btcall.test.Python", "/py", "org.btcall.test.Python", "Mix",
                [.vardict(["a": .uint32(1), "b": .strings(["x"])]), .structure([.byte(1), .double(0.5)])])
            #expect(
                reply == [.vardict(["a": .uint32(1), "b": .strings(["x"])]), .structure([.byte(1), .double(0.5)])])
            #expect(await mailbox.take().first?.arguments == ["called"])
            let error = await #expect(throws: BusError.self) {
                try await client.call("org.btcall.test.Python", "/py", "org.btcall.test.Python", "Fail")
            }
            #expect(error == BusError(name: "org.btcall.test.Error", message: "as asked"))
        }
    }
}

/// Whether a text is well-formed XML, checked by its tags.
private struct TagBalance {
    let isWellFormed: Bool

    init(_ text: String) {
        var open: [Substring] = []
        var sound = true
        for part in text.split(separator: "<").dropFirst() where !part.hasPrefix("!") {
            guard let end = part.firstIndex(of: ">") else {
                sound = false
                continue
            }
            let tag = part[..<end]
            if tag.hasPrefix("/") {
                sound = sound && open.popLast() == tag.dropFirst()
            } else if !tag.hasSuffix("/") {
                open.append(tag.prefix { $0 != " " })
            }
        }
        isWellFormed = sound && open.isEmpty
    }
}
