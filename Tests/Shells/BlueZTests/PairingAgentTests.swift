import BTCallSimulator
import BlueZ
import BluetoothTypes
import ControlLoop
import DBus
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct PairingAgentTests {
    private static let path = "/org/bluez/hci0/dev_00_1B_DC_08_00_11"

    /// Decides on requests.
    @ControlPlane
    private final class Person {
        var requests: [PairingRequest] = []
        var answer = PairingAnswer.accept
    }

    private func run(_ body: (BlueZFixture, PairingAgent) async throws -> Void) async throws {
        let fixture = try await BlueZFixture()
        defer { fixture.stop() }
        let agent = PairingAgent(bus: fixture.bus, logger: fixture.log.logger)
        // The answer comes after the one about the name's owner.
        _ = try await fixture.bus.owner(of: "org.bluez")
        try await agent.register()
        try await body(fixture, agent)
    }

    private func error(_ body: @ControlPlane () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return (error as? BusError)?.name
        }
    }

    @Test func `bluetoothd's questions are passed on, and answered as decided`() async throws {
        try await run { fixture, agent in
            let person = Person()
            agent.onRequest = { address, request in
                #expect(address == BlueZFixture.first)
                person.requests.append(request)
                return person.answer
            }
            let device = Value.objectPath(Self.path)
            let questions: [(String, [Value], PairingRequest)] = [
                ("RequestAuthorization", [device], .authorization),
                ("RequestConfirmation", [device, .uint32(123_456)], .confirmation(123_456)),
                ("AuthorizeService", [device, .string(ServiceUUID.handsFree.text)], .service(.handsFree)),
                ("DisplayPasskey", [device, .uint32(42), .uint16(0)], .display("000042")),
                ("DisplayPinCode", [device, "0042"], .display("0042")),
            ]
            for (member, arguments, request) in questions {
                person.requests = []
                person.answer = .accept
                #expect(await error { _ = try await fixture.fake.askAgent(member, arguments) } == nil)
                person.answer = .reject(reason: "no")
                #expect(
                    await error { _ = try await fixture.fake.askAgent(member, arguments) }
                        == "org.bluez.Error.Rejected")
                #expect(person.requests == [request, request])
            }
            // There is no PIN, and no keys to type one.
            person.answer = .accept
            for member in ["RequestPinCode", "RequestPasskey"] {
                #expect(
                    await error { _ = try await fixture.fake.askAgent(member, [device]) }
                        == "org.bluez.Error.Rejected")
            }
            person.answer = .pin("0000")
            let pin = try await fixture.fake.askAgent("RequestPinCode", [device])
            #expect(pin == ["0000"])
        }
    }

    @Test func `only bluetoothd may call the agent, and nobody once it is unregistered`() async throws {
        try await run { fixture, agent in
            agent.onRequest = { _, _ in .accept }
            let stranger = try BusConnection(fixture.privateBus.address)
            let name = try #require(fixture.bus.uniqueName)
            #expect(
                await error {
                    _ = try await stranger.call(
                        name, "/org/btcall/agent", "org.bluez.Agent1", "RequestAuthorization",
                        [.objectPath(Self.path)])
                } == BusError.Name.accessDenied)
            #expect(fixture.fake.agentCapability == "NoInputNoOutput")
            await agent.unregister()
            #expect(fixture.fake.agentCapability == nil)
            #expect(!agent.isRegistered)
            stranger.close()
        }
    }

    @Test func `the agent is gone with bluetoothd, and can be registered with the next one`() async throws {
        try await run { fixture, agent in
            fixture.fake.stop()
            try await eventually("the agent is unregistered") { !agent.isRegistered }
            let failure = await #expect(throws: PairingError.self) { try await agent.register() }
            #expect(failure == .serviceAbsent)
            try await fixture.fake.start()
            _ = try await fixture.bus.owner(of: "org.bluez")
            try await agent.register()
            #expect(fixture.fake.agentCapability == "NoInputNoOutput")
        }
    }
}
