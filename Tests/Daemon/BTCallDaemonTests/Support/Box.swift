import AudioDSP
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import DBus
import HeadsetControl
import Routing
import TestSupport
import Testing

/// The whole daemon on its own bus in a simulated environment, with a telephony application and a client.
@ControlPlane
final class Box {
    static let first = BluetoothAddress(value: 0x0000_5E00_5301)
    static let second = BluetoothAddress(value: 0x0000_5E00_5302)
    static let adapter = BluetoothAddress(value: 0x0000_5E00_5300)

    let address: BusAddress
    let bluez: FakeBlueZ
    let simulation: SimulatedEnvironment
    let board: SimulatedBoard?
    private let change: (inout Daemon.Environment) -> Void
    /// The telephony application, and its connection to the daemon.
    let telephone = Telephone()
    let bridge: CallBridge
    /// A plain connection for calls that the library does not offer.
    let client: BusConnection
    let configuration: Configuration
    let log: LogLines
    private(set) var daemon: Daemon
    private(set) var connection: BusConnection
    /// Registrations that last as long as the box.
    var registrations: [ProviderRegistration] = []
    private let pacer: AudioPacer
    private let bus: FakeBlueZBus

    /// Runs a test with a box and shuts it down afterwards.
    ///
    /// - Parameters:
    ///   - rules: additional rules of the bus's policy.
    ///   - policies: additional `<policy>` elements.
    ///   - isBlueZRunning: whether bluetoothd runs when the daemon starts.
    ///   - board: nil: no jacks, hooks and mixers.
    ///   - prepare: runs before the daemon starts.
    ///   - environment: changes the other parts of the daemon's environment.
    static func run(
        isBlueZRunning: Bool = true, rules: String = "", policies: String = "", board: SimulatedBoard? = nil,
        configure: (inout Configuration) -> Void = { _ in }, prepare: (Box) async throws -> Void = { _ in },
        environment: @escaping (inout Daemon.Environment) -> Void = { _ in },
        body: (Box) async throws -> Void
    ) async throws {
        var configuration = Self.configuration
        configure(&configuration)
        let box = try await Box(configuration, rules, policies, board, environment)
        let result: Result<Void, any Error>
        do {
            if isBlueZRunning { try await box.bluez.start() }
            try await prepare(box)
            try await box.start()
            try await body(box)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await box.stop()
        try result.get()
    }

    /// Runs a test whose daemon opens its cards through an observing wrapper.
    static func run<Paths: PathOpening>(
        through look: @escaping @ControlPlane (any PathOpening) -> Paths,
        configure: (inout Configuration) -> Void = { _ in }, body: (Box, Paths) async throws -> Void
    ) async throws {
        var paths: Paths?
        try await run(
            configure: configure,
            environment: { environment in
                let looking = look(environment.paths)
                environment.paths = looking
                paths = looking
            },
            body: { box in try await body(box, try #require(paths)) })
    }

    /// The policy's waits are shortened; no test result depends on them.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.stateDirectory = nil
        configuration.pcmSocket = nil
        configuration.localDevices = [
            .earpiece: .init(playback: "simulated", capture: "simulated"),
            .speakerphone: .init(playback: "simulated", capture: "simulated"),
        ]
        configuration.routing.settleBluetooth = .milliseconds(20)
        configuration.routing.startGrace = .milliseconds(20)
        configuration.routing.minDwell = .milliseconds(50)
        configuration.routing.transferGuard = .zero
        configuration.routing.retryBase = .milliseconds(50)
        configuration.routing.reopenPause = .milliseconds(50)
        configuration.timeouts.localDevice = .milliseconds(50)
        configuration.timeouts.busName = .milliseconds(50)
        configuration.timeouts.profile = .milliseconds(50)
        // The simulated radio has the machine's clock; drift is tested with virtual time.
        configuration.routing.silentLimit = .milliseconds(250)
        configuration.audioDelayMilliseconds = 0
        // A headset that a test disconnects has to stay away.
        configuration.reconnect.isOn = false
        // Tests compare played and heard samples.
        configuration.voiceProcessing = .none
        return configuration
    }

    private init(
        _ configuration: Configuration, _ rules: String, _ policies: String, _ board: SimulatedBoard?,
        _ change: @escaping (inout Daemon.Environment) -> Void
    ) async throws {
        self.configuration = configuration
        self.board = board
        self.change = change
        bus = try FakeBlueZBus(rules: rules, policies: policies)
        address = bus.address
        bluez = FakeBlueZ(on: address)
        bluez.addAdapter(address: Self.adapter)
        bluez.addHeadset(Self.first, name: "headset 1")
        bluez.addHeadset(Self.second, name: "headset 2")
        pacer = try AudioPacer()
        simulation = SimulatedEnvironment(pacer: pacer)
        simulation.linkDelay = .milliseconds(20)
        for kind in LocalDevice.allCases where configuration.localDevices[kind] != nil {
            simulation.addCard(kind, microphone: Tone.samples)
        }
        simulation.addHeadset(Self.first, name: "headset 1", codecs: [.mSBC, .cvsd], microphone: Tone.samples)
        simulation.addHeadset(Self.second, name: "headset 2", codecs: [.cvsd], microphone: Tone.samples)
        client = try BusConnection(address)
        bridge = try await CallBridge(bus: .address("\(address)"))
        connection = try BusConnection(address)
        log = LogLines()
        daemon = try Self.makeDaemon(configuration, connection, simulation, board, change, log)
    }

    private static func makeDaemon(
        _ configuration: Configuration, _ connection: BusConnection, _ simulation: SimulatedEnvironment,
        _ board: SimulatedBoard?, _ change: (inout Daemon.Environment) -> Void, _ log: LogLines
    ) throws -> Daemon {
        var parts = Daemon.Environment(paths: simulation, opener: simulation, board: board)
        change(&parts)
        return try Daemon(
            configuration: configuration, bus: connection,
            registry: DeviceRegistry(bus: connection, logger: log.logger), environment: parts, logger: log.logger)
    }

    private func start() async throws {
        await daemon.start()
        guard bluez.isRunning, bluez.profiles.isEmpty, configuration.autostart else { return }
        try await eventually("bluetoothd has the profile") { !self.bluez.profiles.isEmpty }
    }

    /// Ends the message bus without notice.
    func stopBus() { bus.stop() }
    /// Starts the bus again at the same address.
    func startBus() throws { try bus.start() }

    /// Acts like the end of the process and, after a pause, a new start.
    func restartDaemon(after pause: Duration = .zero) async throws {
        await daemon.stop()
        connection.close()
        if pause > .zero { await ControlLoop.shared.sleep(for: pause) }
        connection = try BusConnection(address)
        daemon = try Self.makeDaemon(configuration, connection, simulation, board, change, log)
        try await start()
    }

    private func stop() async {
        telephone.manner = .willing
        telephone.exchange.stop()
        await daemon.stop()
        registrations = []
        bluez.stop()
        await bridge.close()
        connection.close()
        client.close()
        pacer.stop()
        bus.stop()
    }

    // MARK: Actions of people

    /// Switches a headset on; returns when it has sent everything that it sends on its own.
    func connect(_ address: BluetoothAddress, codecs: [VoiceCodec] = [.cvsd]) async throws -> Ears {
        let headset = VirtualHeadset(
            .init(
                address: address, name: address == Self.first ? "headset 1" : "headset 2", codecs: codecs, battery: 70))
        let ears = Ears(headset)
        try headset.attach(try await bluez.connect(address))
        try await eventually("\(address) is connected") {
            self.daemon.headsets.description(of: address)?.battery == 70
        }
        return ears
    }

    func register(
        _ capabilities: Set<CallProviderDescription.Capability> = [], _ format: Telephone.Format = Telephone.Format(),
        talk: BTCall.TalkMode? = nil
    ) async throws -> ProviderRegistration {
        var description = CallProviderDescription(
            name: "test", rate: format.rate, sampleFormat: format.sampleFormat, channels: format.channels,
            capabilities: capabilities)
        description.talk = talk
        return try await bridge.register(telephone, as: description)
    }

    /// Starts a call that the far end has answered.
    func startCall(_ registration: ProviderRegistration) async throws -> Call.ID {
        let call = try await registration.reportOutgoing(number: "+4930123456")
        try await registration.update(call, .active)
        return call
    }

    func prefer(_ preferred: Choice, default standard: Choice = .earpiece) async throws {
        try await bridge.audioDeviceManager.setAudioDevice(preferred)
        try await bridge.audioDeviceManager.setDefaultAudio(standard)
    }

    // MARK: Observations of people

    func route(_ expected: Choice, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("the route is \(expected)", sourceLocation: sourceLocation) {
            try await self.bridge.audioDeviceManager.activeRoute() == expected
        }
    }

    func problem(_ id: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> BridgeProblem {
        var found: BridgeProblem?
        try await eventually("there is a problem \(id)", sourceLocation: sourceLocation) {
            found = try await self.bridge.status().problems.first { $0.id == id }
            return found != nil
        }
        return try #require(found)
    }

    /// The dictionary of a device on the bus.
    func device(_ word: String) async throws -> [String: Value]? {
        let reply = try await client.call(
            BTCallName.bus, BTCallPath.router, "org.freedesktop.DBus.Properties", "Get",
            [.string(BTCallName.Interface.router), "Devices"])
        return reply.first?.unwrapped.arrayValue?.compactMap(\.vardictValue).first { $0["device"] == .string(word) }
    }

    func noProblem(_ id: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("there is no problem \(id)", sourceLocation: sourceLocation) {
            try await self.bridge.status().problems.allSatisfy { $0.id != id }
        }
    }

    /// Waits until a device plays the far end's audio.
    func playing(_ device: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let before = simulation.played(device).map { $0.samples.count }.max() ?? 0
        try await eventually("\(device) plays the far end", sourceLocation: sourceLocation) {
            self.simulation.played(device).contains { Tone.isHeard(in: $0.samples.dropFirst(before)) }
        }
    }

    /// Calls the daemon like any program on the bus.
    ///
    /// - Returns: the name of the error; nil when the call succeeded.
    func error(
        _ path: String, _ interface: String, _ member: String, _ arguments: [Value] = []
    ) async -> String? {
        do throws(BusError) {
            _ = try await client.call(BTCallName.bus, path, interface, member, arguments)
            return nil
        } catch {
            return error.name
        }
    }
}

/// A headset with the events that it received.
@ControlPlane
final class Ears {
    let headset: VirtualHeadset
    private(set) var events: [VirtualHeadset.Event] = []

    init(_ headset: VirtualHeadset) {
        self.headset = headset
        headset.onEvent = { [weak self] event in self?.events.append(event) }
    }

    func hear(_ event: VirtualHeadset.Event, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        try await eventually("the headset hears \(event)", sourceLocation: sourceLocation) {
            self.events.contains(event)
        }
    }

    func forget() { events = [] }
}

/// The error of a call that must fail.
@ControlPlane
func refusal(_ body: @ControlPlane () async throws(BridgeError) -> Void) async -> BridgeError? {
    do throws(BridgeError) {
        try await body()
        return nil
    } catch {
        return error
    }
}
