import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Synchronization
import TestSupport
import Testing

/// A directory of names that answers when the test allows it.
private final class Contacts: Sendable {
    private struct State {
        var isHolding = false
        var asked: [String] = []
    }

    private let state = Mutex(State())
    private let names: [String: String]

    init(_ names: [String: String]) { self.names = names }

    var asked: [String] { state.withLock(\.asked) }
    /// Whether answers are held back.
    var isHolding: Bool {
        get { state.withLock(\.isHolding) }
        set { state.withLock { $0.isHolding = newValue } }
    }

    @ControlPlane func resolve(_ number: String) async -> String? {
        state.withLock { $0.asked.append(number) }
        while isHolding { await ControlLoop.shared.sleep(for: .milliseconds(5)) }
        return names[number]
    }
}

extension DaemonTests {
    @Suite @ControlPlane struct ContactTests {
        private let contacts = Contacts(["5550100": "Alice", "5550101": "Bob"])

        private func resolve(_ box: Box) async throws -> ContactResolution {
            let contacts = contacts
            return try await box.bridge.resolveContacts { number in await contacts.resolve(number) }
        }

        private func names(_ box: Box) async throws -> [String?] { try await box.bridge.calls.list().map(\.name) }

        @Test func `A contact resolver's name is part of the first ring and of CallAdded`() async throws {
            try await Box.run(
                configure: { $0.timeouts.contact = .seconds(10) },
                body: { box in
                    let headset = try await box.rawHeadset()
                    try await headset.establishWithCallWaiting()
                    let registration = try await box.register([.dial])
                    let resolution = try await resolve(box)
                    var events = await box.bridge.events().makeAsyncIterator()
                    let call = try await registration.reportIncoming(number: "5550100")
                    try await headset.hear("+CLIP: \"5550100\",129,,,\"Alice\"")
                    #expect(!headset.lines.contains("+CLIP: \"5550100\",129"))
                    var added: Call?
                    while added == nil, let event = await events.next() {
                        if case .callAdded(let call) = event { added = call }
                    }
                    #expect(added?.id == call && added?.name == "Alice")
                    // The application's own name wins, and a withheld number has no contact.
                    _ = try await registration.reportIncoming(number: "5550101", name: "Gate")
                    _ = try await registration.reportIncoming(number: "")
                    _ = try await registration.reportIncoming(number: "5550199")
                    #expect(try await names(box) == ["Alice", "Gate", nil, nil])
                    #expect(contacts.asked == ["5550100", "5550199"])
                    // Outgoing calls are looked up as well, without waiting.
                    _ = try await registration.reportOutgoing(number: "5550101")
                    try await eventually("Bob is called") { try await names(box).last == "Bob" }
                    try await resolution.end()
                    _ = try await registration.reportIncoming(number: "5550100")
                    #expect(contacts.asked.count == 3)
                })
        }

        @Test func `A slow resolver delays one call by the budget, no further ones, and its names arrive late`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .milliseconds(50) },
                body: { box in
                    let registration = try await box.register()
                    let resolution = try await resolve(box)
                    contacts.isHolding = true
                    let first = try await registration.reportIncoming(number: "5550100")
                    #expect(try await names(box) == [nil])
                    #expect(!box.log.containing("notice", "no longer wait for it").isEmpty)
                    contacts.isHolding = false
                    try await eventually("the late name is shown") { try await names(box) == ["Alice"] }
                    try await registration.update(first, .ended)
                    // The resolver must be in time once before calls wait for it again.
                    try await eventually("it is in time") {
                        let call = try await registration.reportIncoming(number: "5550101")
                        try await registration.update(call, .ended)
                        return !box.log.containing("notice", "answers in time again").isEmpty
                    }
                    try await resolution.end()
                })
        }

        @Test func `btcalld waits only once for a resolver that never answers`() async throws {
            // If the second call waited as well, it would not ring before the test times out.
            try await Box.run(
                configure: { $0.timeouts.contact = .milliseconds(300) },
                body: { box in
                    let silent = try BusConnection(box.address)
                    silent.export(
                        [
                            ExportedInterface(
                                BTCallName.Interface.contactResolver,
                                methods: [
                                    .init("Resolve", in: [("number", "s")], out: [("name", "s")]) { _ in
                                        await ControlLoop.shared.sleep(for: .seconds(20))
                                        return [""]
                                    }
                                ])
                        ], at: "/contacts")
                    _ = try await silent.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, "RegisterContactResolver",
                        [.objectPath("/contacts")])
                    let registration = try await box.register()
                    _ = try await registration.reportIncoming(number: "5550100")
                    #expect(try await box.bridge.calls.list().count == 1)
                    #expect(!box.log.containing("notice", "no longer wait for it").isEmpty)
                    _ = try await registration.reportIncoming(number: "5550101")
                    #expect(try await box.bridge.calls.list().count == 2)
                    // A resolver that leaves the bus is removed.
                    silent.close()
                    try await eventually("it is forgotten") {
                        await box.error(
                            BTCallPath.calls, BTCallName.Interface.calls, "UnregisterContactResolver",
                            [.objectPath("/contacts")]) == "org.btcall.Error.InvalidArgument"
                    }
                    _ = try await registration.reportIncoming(number: "5550102")
                })
        }

        @Test
        func `A failing resolver costs nothing, a name that is too long is ignored, and a ninth resolver is refused`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.contact = .seconds(10) },
                body: { box in
                    let registration = try await box.register()
                    let interface = BTCallName.Interface.calls
                    // No object is exported at this path.
                    #expect(
                        await box.error(
                            BTCallPath.calls, interface, "RegisterContactResolver", [.objectPath("/nothing")]) == nil)
                    _ = try await registration.reportIncoming(number: "5550100")
                    let long = try await box.bridge.resolveContacts { _ in String(repeating: "x", count: 257) }
                    _ = try await registration.reportIncoming(number: "5550101")
                    #expect(try await names(box) == [nil, nil])
                    try await long.end()
                    // Together with the one above these are eight, of five programs.
                    let programs = try (0..<4).map { _ in try BusConnection(box.address) }
                    defer { for program in programs { program.close() } }
                    for number in 0..<7 {
                        let path = Value.objectPath("/nothing\(number)")
                        _ = try await programs[number / 2].call(
                            BTCallName.bus, BTCallPath.calls, interface, "RegisterContactResolver", [path])
                    }
                    #expect(
                        await box.error(
                            BTCallPath.calls, interface, "RegisterContactResolver", [.objectPath("/ninth")])
                            == "org.btcall.Error.WrongState")
                    _ = try await registration.reportIncoming(number: "5550102")
                })
        }
    }
}
