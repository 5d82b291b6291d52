import AudioPaths
import BTCallAPI
import BTCallSimulator
import BluetoothTypes
import BusObjects
import CallControl
import ControlLoop
import DBus
import Diagnostics
import Glibc
import Routing
import TestSupport
import Testing

/// A fake of the routing decisions, as far as `Router1` knows them; records all calls.
@ControlPlane
private final class Router: RouteDeciding {
    private(set) var policy = RoutingPolicy()
    let recorder = FlightRecorder(version: "test")
    let notices = Signal<RouteNotice>()
    let ringing = Signal<Ringing>()
    let musicReturns = Signal<BluetoothAddress>()
    var choiceSequence: Int?
    var events: [RoutingEvent] = []
    var refusal: RoutingError?

    func handle(_ event: RoutingEvent) {
        events.append(event)
        switch event {
        case .select, .clearSelection: choiceSequence = (choiceSequence ?? 0) + 1
        case .setPreferred, .setDefault: _ = policy.handle(event, at: ControlLoop.now)
        default: break
        }
    }

    func refusal(ofSelecting device: AudioDevice) -> RoutingError? { refusal }
}

/// `Router1` without a daemon behind it.
@Suite @ControlPlane struct RouterObjectTests {
    /// A bus with the object and a client, and the preferences that the object asked to store.
    @ControlPlane private final class Stage {
        let router = Router()
        let server: BusConnection
        private let client: BusConnection
        private let bus: FakeBlueZBus
        private var object: RouterObject?
        private(set) var preferences = 0
        private(set) var replaced: [AudioDevice] = []

        init() throws {
            bus = try FakeBlueZBus()
            server = try BusConnection(bus.address)
            client = try BusConnection(bus.address)
            object = RouterObject(
                bus: server, router: router, interruptions: Interruptions(), describe: { [] }, codec: { _ in nil },
                onPreference: { [weak self] in self?.preferences += 1 },
                onReplaced: { [weak self] in self?.replaced.append($0) })
        }

        func call(_ member: String, _ arguments: [Value] = []) async throws(BusError) -> [Value] {
            try await client.call(
                server.uniqueName ?? "", BTCallPath.router, BTCallName.Interface.router, member, arguments)
        }

        func set(_ property: String, _ value: Value) async throws(BusError) {
            _ = try await client.call(
                server.uniqueName ?? "", BTCallPath.router, "org.freedesktop.DBus.Properties", "Set",
                [.string(BTCallName.Interface.router), .string(property), .variant(value)])
        }

        func get(_ property: String) async throws(BusError) -> Value {
            try await client.call(
                server.uniqueName ?? "", BTCallPath.router, "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.router), .string(property)]
            ).first?.unwrapped ?? ""
        }

        func stop() {
            object?.close()
            client.close()
            server.close()
            bus.stop()
        }
    }

    private func run(_ body: (Stage) async throws -> Void) async throws {
        let stage = try Stage()
        defer { stage.stop() }
        try await body(stage)
    }

    @Test func `Each member sends one event to the policy`() async throws {
        try await run { stage in
            _ = try await stage.call("Start")
            _ = try await stage.call("Select", ["earpiece"])
            _ = try await stage.call("ClearSelection")
            _ = try await stage.call("Refresh")
            _ = try await stage.call("Stop")
            try await stage.set("Preferred", "speakerphone")
            try await stage.set("Default", "earpiece")
            #expect(
                stage.router.events == [
                    .start, .select(.earpiece), .clearSelection, .refresh, .stop, .setPreferred(.speakerphone),
                    .setDefault(.earpiece),
                ])
            #expect(stage.preferences == 2)
        }
    }

    @Test func `A preference set over another without a default is remembered until there is a default`() async throws {
        try await run { stage in
            func replaced() async throws -> String? {
                try await stage.get("ReplacedPreference").stringValue
            }
            try await stage.set("Preferred", "bluetooth")
            #expect(try await replaced() == "none")
            try await stage.set("Preferred", "bluetooth")
            #expect(try await replaced() == "none")
            try await stage.set("Preferred", "earpiece")
            #expect(try await replaced() == "bluetooth")
            #expect(stage.replaced.last == .bluetooth)
            try await stage.set("Default", "bluetooth")
            #expect(try await replaced() == "none")
            try await stage.set("Preferred", "speakerphone")
            #expect(try await replaced() == "none")
            try await stage.set("Default", "none")
            try await stage.set("Preferred", "earpiece")
            #expect(try await replaced() == "speakerphone")
            try await stage.set("Preferred", "none")
            #expect(try await replaced() == "none")
        }
    }

    @Test func `A refused request sends no event, and its error has a btcall name`() async throws {
        try await run { stage in
            func refusal(_ member: String, _ arguments: [Value]) async -> String? {
                do throws(BusError) {
                    _ = try await stage.call(member, arguments)
                    return nil
                } catch {
                    return error.name
                }
            }
            #expect(await refusal("Select", ["radio"]) == "org.btcall.Error.InvalidArgument")
            stage.router.refusal = .notStarted
            #expect(await refusal("Select", ["earpiece"]) == "org.btcall.Error.NotStarted")
            #expect(await refusal("AcquireSelection", ["earpiece", .vardict([:])]) == "org.btcall.Error.NotStarted")
            #expect(await refusal("Incident", [.vardict([:])]) == "org.btcall.Error.WrongState")
            #expect(stage.router.events.isEmpty)
        }
    }

    @Test func `A held selection ends with its descriptor, unless a later choice has replaced it`() async throws {
        try await run { stage in
            func acquire(_ device: String) async throws -> PassedDescriptor {
                let reply = try await stage.call("AcquireSelection", [.string(device), .vardict([:])])
                guard case .unixDescriptor(let descriptor) = reply.first else { throw BusError.invalidArguments("") }
                return descriptor
            }
            let first = try await acquire("earpiece")
            close(first.take())
            try await eventually("it is withdrawn") { stage.router.events.last == .clearSelection }
            let second = try await acquire("earpiece")
            let third = try await acquire("speakerphone")
            close(second.take())
            close(third.take())
            try await eventually("the later one is withdrawn") { stage.router.events.last == .clearSelection }
            #expect(
                stage.router.events == [
                    .select(.earpiece), .clearSelection, .select(.earpiece), .select(.speakerphone), .clearSelection,
                ])
        }
    }
}
