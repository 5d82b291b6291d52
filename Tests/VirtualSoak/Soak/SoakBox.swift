import AudioDSP
import AudioEngine
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import Configuration
import ControlLoop
import DBus
import Glibc
import Logging
import Routing

/// The daemon's parts on a private bus, and their environment: bluetoothd, headsets, sound cards, programs.
@ControlPlane
final class SoakBox {
    @ControlPlane
    final class Headset {
        let address: BluetoothAddress
        let name: String
        let codecs: [VoiceCodec]
        let hasMusic: Bool
        /// Its present connection; nil while it is off.
        var connection: VirtualHeadset?

        init(_ address: BluetoothAddress, _ name: String, _ codecs: [VoiceCodec], hasMusic: Bool) {
            self.address = address
            self.name = name
            self.codecs = codecs
            self.hasMusic = hasMusic
        }
    }

    static let cards: [LocalDevice] = [.earpiece, .speakerphone]

    let bluez: FakeBlueZ
    let simulation: SimulatedEnvironment
    let headsets: [Headset]
    let daemon: Daemon
    /// The program with the buttons and the screen.
    private(set) var bridge: CallBridge
    let provider = SoakProvider()
    private(set) var registration: ProviderRegistration?
    /// For requests that the library does not make.
    let client: BusConnection
    private var providerBridge: CallBridge?
    private let bus: FakeBlueZBus
    private let pacer: AudioPacer
    private let connection: BusConnection
    let stateDirectory: String
    private(set) var pulled: Set<LocalDevice> = []
    private(set) var isPowered = true

    init(logLevel: Logger.Level, stateDirectory: String) async throws {
        self.stateDirectory = stateDirectory
        bus = try FakeBlueZBus()
        bluez = FakeBlueZ(on: bus.address)
        pacer = try AudioPacer(isRecording: false)
        simulation = SimulatedEnvironment(pacer: pacer)
        headsets = [
            Headset(BluetoothAddress(value: 0x0000_5E00_5301), "headset 1", [.cvsd, .mSBC], hasMusic: true),
            Headset(BluetoothAddress(value: 0x0000_5E00_5302), "headset 2", [.cvsd], hasMusic: false),
            Headset(BluetoothAddress(value: 0x0000_5E00_5303), "headset 3", [.cvsd, .mSBC], hasMusic: false),
        ]
        bluez.addAdapter(address: BluetoothAddress(value: 0x0000_5E00_5300))
        let voice: @Sendable (Int) -> [Int16] = { rate in (0..<rate / 10).map { Int16($0 % 40 * 150 - 3000) } }
        for kind in Self.cards { simulation.addCard(kind, microphone: voice) }
        for headset in headsets {
            bluez.addHeadset(
                headset.address, name: headset.name,
                services: headset.hasMusic ? [.handsFree, .audioSink] : [.handsFree])
            simulation.addHeadset(
                headset.address, name: headset.name, codecs: headset.codecs.reversed(), microphone: voice)
        }
        try await bluez.start()
        var configuration = Configuration()
        configuration.stateDirectory = stateDirectory
        configuration.pcmSocket = nil
        configuration.quirksFile = nil
        configuration.quirksOverlay = nil
        configuration.logLevel = logLevel
        configuration.localDevices = [
            .earpiece: .init(playback: "simulated", capture: "simulated"),
            .speakerphone: .init(playback: "simulated", capture: "simulated"),
        ]
        // Only the course decides which headsets connect.
        configuration.reconnect.isOn = false
        // It would take ten times the processor time, and allocates nothing during a call.
        configuration.voiceProcessing = .none
        let logger = Logger(label: "btcalld") { StandardErrorLogHandler(label: $0, level: logLevel) }
        connection = try BusConnection(bus.address)
        var parts = Daemon.Environment(paths: simulation, opener: simulation)
        parts.engine.realtimePriority = 0
        parts.engine.locksMemory = false
        // Fills within an hour or two: the daemon's own limits would fill only at the end of the day.
        parts.recording = RoutingRecording(segmentLimit: 4, eventLimit: 64)
        daemon = try Daemon(
            configuration: configuration, bus: connection,
            registry: DeviceRegistry(bus: connection, logger: logger), environment: parts, logger: logger)
        client = try BusConnection(bus.address)
        bridge = try await CallBridge(bus: .address("\(bus.address)"))
        bluez.onProfileRequest = { [weak self] address, service throws(BusError) in
            guard let self, service == .audioSink else { return false }
            try await bluez.configureMedia(of: address)
            return true
        }
        bluez.onConnected = { [weak self] address, descriptor in
            guard let self, let headset = headsets.first(where: { $0.address == address }) else { return }
            // Fails only when descriptors are exhausted.
            try? accept(descriptor, headset)
        }
        await daemon.start()
    }

    func stop() async {
        await killProvider()
        for headset in headsets { switchOff(headset) }
        await daemon.stop()
        bluez.stop()
        await bridge.close()
        connection.close()
        client.close()
        pacer.stop()
        bus.stop()
    }

    // MARK: Headsets

    func isOn(_ headset: Headset) -> Bool { headset.connection != nil && bluez.isLinked(headset.address) }

    /// - Returns: false when bluetoothd does not know the headset.
    func switchOn(_ headset: Headset) async -> Bool {
        guard !bluez.isLinked(headset.address), bluez.isRunning, isPowered else { return false }
        simulation.revive(headset.address)
        do {
            try accept(try await bluez.connect(headset.address), headset)
        } catch {
            return false
        }
        if headset.hasMusic {
            // Without an endpoint of the daemon there is no music: bluetoothd has just restarted.
            _ = try? await bluez.configureMedia(of: headset.address, volume: 64)
        }
        return true
    }

    private func accept(_ descriptor: Int32, _ headset: Headset) throws {
        headset.connection?.detach()
        let device = VirtualHeadset(
            .init(address: headset.address, name: headset.name, codecs: headset.codecs, battery: 70))
        headset.connection = device
        // Closed from this side, as when the daemon is deactivated: bluetoothd drops the radio link.
        device.onEvent = { [weak self, weak headset, weak device] event in
            guard event == .closed, let self, let headset, let device, headset.connection === device else { return }
            switchOff(headset)
        }
        try device.attach(descriptor)
    }

    /// Disconnects the headset in order.
    func switchOff(_ headset: Headset) {
        simulation.closeLink(headset.address)
        headset.connection?.detach()
        headset.connection = nil
        bluez.disconnect(headset.address)
    }

    /// Puts the headset out of reach silently.
    func lose(_ headset: Headset, noticedAfter delay: Duration) {
        headset.connection?.dieSilently()
        simulation.die(headset.address)
        bluez.vanish(headset.address, noticedAfter: delay)
    }

    // MARK: Cards, adapter

    func pull(_ card: LocalDevice) {
        simulation.removeCard(card)
        pulled.insert(card)
    }

    func insert(_ card: LocalDevice) {
        simulation.addCard(card) { rate in (0..<rate / 10).map { Int16($0 % 40 * 150 - 3000) } }
        pulled.remove(card)
    }

    func setPowered(_ powered: Bool) {
        isPowered = powered
        if !powered { for headset in headsets where isOn(headset) { switchOff(headset) } }
        bluez.setPowered(powered)
    }

    // MARK: Programs

    func startProvider() async throws {
        guard registration == nil else { return }
        let providerBridge = try await CallBridge(bus: .address("\(bus.address)"))
        self.providerBridge = providerBridge
        registration = try await providerBridge.register(
            provider, as: .init(name: "soak", capabilities: [.hold, .dial, .dtmf]))
    }

    /// Closes its connection and its audio without notice.
    func killProvider() async {
        registration = nil
        provider.manner = .willing
        provider.stop()
        await providerBridge?.close()
        providerBridge = nil
    }

    /// Connects another program that listens.
    func openBridge() async throws -> CallBridge { try await CallBridge(bus: .address("\(bus.address)")) }
}
