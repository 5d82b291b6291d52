import BTCall
import BTCallAPI
import CommandTestSupport
import ControlLoop
import DBus
import FrameRings
import TestSupport
import Testing
import VideoPlan

@testable import btcall_video

/// btcall-video's table of taps on a private bus, as its clients see it.
@ControlPlane
final class TapBox {
    let bus: PrivateBus
    let pictures: FakePictures
    let log = LogLines()
    let table: TapTable
    let client: CallBridge
    private let server: BusConnection

    nonisolated static let camera = TappedPicture(.local, of: nil)
    nonisolated static let local = TappedPicture(.local, of: FakePictures.call)
    nonisolated static let remote = TappedPicture(.remote, of: FakePictures.call)
    nonisolated static let call = Call.ID(path: FakePictures.call)
    nonisolated static let otherCall = Call.ID(path: FakePictures.otherCall)

    init() async throws {
        bus = try PrivateBus()
        pictures = try FakePictures()
        server = try BusConnection(.address(bus.address))
        table = TapTable(bus: server, pictures: pictures, logger: log.logger)
        server.export(
            [ExportedInterface(BTCallName.Interface.video, methods: table.methods, properties: [table.property])],
            at: BTCallPath.video)
        try await server.requestName(BTCallName.videoBus)
        client = try await CallBridge(bus: .address(bus.address))
    }

    var video: BridgeVideo { client.video }

    func frame(_ value: UInt8) throws -> [UInt8] {
        [UInt8](repeating: value, count: try #require(pictures.layouts[Self.local]).frameBytes)
    }

    /// The property `Taps`.
    func taps() async throws -> Int? {
        try await ask("org.freedesktop.DBus.Properties", "Get", [.string(BTCallName.Interface.video), "Taps"])
            .first?.integerValue
    }

    private func ask(_ interface: String, _ member: String, _ arguments: [Value]) async throws -> [Value] {
        let client = try BusConnection(.address(bus.address))
        defer { client.close() }
        return try await client.call(BTCallName.videoBus, BTCallPath.video, interface, member, arguments)
    }

    static func refusal(_ body: () async throws(BridgeError) -> Void) async -> BridgeError? {
        do throws(BridgeError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    static func busRefusal(_ body: () async throws(BusError) -> Void) async -> BusError? {
        do throws(BusError) {
            try await body()
            return nil
        } catch {
            return error
        }
    }

    func stop() async {
        table.stop()
        await client.close()
        server.close()
    }
}

/// A client of Video1 without the library.
@ControlPlane
final class PlainClient {
    let bus: BusConnection

    init(_ box: TapBox) throws { bus = try BusConnection(.address(box.bus.address)) }

    struct Ring {
        let number: UInt32
        let memory: PassedDescriptor
        let wakeUp: PassedDescriptor
    }

    func call(_ member: String, _ arguments: [Value]) async throws(BusError) -> [Value] {
        try await bus.call(BTCallName.videoBus, BTCallPath.video, BTCallName.Interface.video, member, arguments)
    }

    func openTap(_ call: String, _ side: String = "local") async throws -> Ring {
        try Self.ring(try await self.call("OpenTap", [.objectPath(call), .string(side)]))
    }

    func offer(_ call: String, _ width: UInt32 = 64, _ height: UInt32 = 48, _ rate: UInt32 = 30) async throws -> Ring {
        try Self.ring(
            try await self.call("OfferRemote", [.objectPath(call), .uint32(width), .uint32(height), .uint32(rate)]))
    }

    private static func ring(_ answer: [Value]) throws -> Ring {
        Ring(
            number: try #require(answer[0].uint32Value), memory: try #require(answer[1].descriptorValue),
            wakeUp: try #require(answer[2].descriptorValue))
    }
}
