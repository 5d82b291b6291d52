import BTCallSimulator
import BluetoothTypes
import ControlLoop
import TestSupport
import Testing

@testable import BlueZ

/// A fake BlueZ with the A2DP source under test, registered and with its events.
@ControlPlane
final class MediaFixture {
    typealias Event = MediaSource.Event

    let base: BlueZFixture
    let registry: DeviceRegistry
    let source: MediaSource
    let events = EventQueue<Event>()
    private(set) var registeredPlayers = 0
    /// All capabilities of the headset.
    static let everything: [UInt8] = [0xFF, 0xFF, 2, 53]

    var fake: FakeBlueZ { base.fake }
    var log: LogLines { base.log }

    /// - Parameters:
    ///   - prepare: changes the fake before the source starts.
    ///   - registered: waits until the endpoint and the player are registered, and takes the event.
    init(
        quality: SBCQuality = .standard, registered: Bool = true, acquireTimeout: Duration = .seconds(10),
        retryInterval: Duration = .seconds(30), prepare: @ControlPlane (FakeBlueZ) -> Void = { _ in }
    ) async throws {
        base = try await BlueZFixture()
        prepare(base.fake)
        registry = DeviceRegistry(bus: base.bus, logger: base.log.logger)
        source = MediaSource(
            bus: base.bus, registry: registry, quality: quality, logger: base.log.logger, retryInterval: retryInterval,
            acquireTimeout: acquireTimeout)
        source.onEvent = { [events, weak self] event in
            // It follows the endpoint's, whenever bluetoothd answers.
            if event == .playerRegistered { self?.registeredPlayers += 1 } else { events.push(event) }
        }
        source.start()
        guard registered else { return }
        try await isNext(.registered)
        try await becomes { $0.fake.media.players.count >= 1 }
        try await becomes { $0.registry.isServicePresent }
    }

    func stop() { base.stop() }

    func isNext(_ event: Event, at location: SourceLocation = #_sourceLocation) async throws {
        let next = try await events.next(at: location)
        try #require(next == event, sourceLocation: location)
    }

    func refusal(at location: SourceLocation = #_sourceLocation) async throws -> MediaRefusal {
        let event = try await events.next(at: location)
        let refusal: MediaRefusal? = if case .refused(let refusal) = event { refusal } else { nil }
        return try #require(refusal, "\(event)", sourceLocation: location)
    }

    func becomes(
        at location: SourceLocation = #_sourceLocation, _ condition: @ControlPlane (MediaFixture) -> Bool
    ) async throws {
        try await eventually("the state is reached", sourceLocation: location) { condition(self) }
    }

    /// A stream with the headset, its event taken.
    func configure(_ address: BluetoothAddress = BlueZFixture.first, volume: UInt16? = nil) async throws {
        try await fake.configureMedia(of: address, volume: volume)
        try await isNext(.configured(address))
    }

    /// An acquisition in a task of its own that has reached bluetoothd.
    func acquiring(_ address: BluetoothAddress = BlueZFixture.first) async throws -> Task<String, Never> {
        let requests = fake.media.requests.count
        let task = Task { @ControlPlane [source] in await Self.outcome(of: source, address) }
        try await becomes { $0.fake.media.requests.count > requests }
        return task
    }

    /// `stream`, or the error.
    static func outcome(of source: MediaSource, _ address: BluetoothAddress) async -> String {
        do throws(MediaError) {
            _ = try await source.acquire(address)
            return "stream"
        } catch {
            return "\(error)"
        }
    }
}
