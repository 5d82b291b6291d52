import AudioDSP
import BTCall
import BTCallDaemon
import BTCallSimulator
import BlueZ
import BluetoothTypes
import CallExchange
import Configuration
package import ControlLoop
import DBus
import Foundation
package import Logging
import Routing

/// The four steps with the daemon's real code: a private bus, a simulated BlueZ with two headsets, simulated cards.
@ControlPlane
package final class Demonstration {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Times of the steps, in seconds of the call.
    package struct Schedule: Sendable {
        package let firstOn, firstDies, secondOn, buttonPressed: Double

        package static let normal = Schedule(firstOn: 6, firstDies: 13, secondOn: 19, buttonPressed: 26)
        package static let fast = Schedule(firstOn: 3, firstDies: 7.5, secondOn: 11, buttonPressed: 15.5)
    }

    /// Progress for the viewer.
    package enum Progress: Sendable {
        case step(Int, String)
        case route(String, reason: String)
        /// Peaks of 0…32767 since the previous report, and seconds since the beginning.
        case levels(seconds: Double, route: String, farEnd: Int, heard: Int)
        case note(String)
        /// Number of finished comparisons of recordings with the speech.
        case comparing(Int, of: Int)
    }

    /// The demonstration was interrupted; its recordings are not judged.
    package struct CutOff: Error {}

    package struct Result: Sendable {
        package let recordings: DemoRecordings
        package let report: DemoReport
        /// Changes of route announced by the daemon: for the drawing only, not for the report.
        package let routes: [(at: Double, device: String, reason: String)]
    }

    static let first = (address: BluetoothAddress(value: 0x0000_5E00_5301), name: "headset 1")
    static let second = (address: BluetoothAddress(value: 0x0000_5E00_5302), name: "headset 2")

    private let schedule: Schedule
    private let logger: Logger
    private var isCutOff = false
    private let onProgress: @ControlPlane (Progress) -> Void
    private let pacer: AudioPacer
    private let simulation: SimulatedEnvironment
    private let bus: FakeBlueZBus
    private let bluez: FakeBlueZ
    private var routes: [(at: Double, device: String, reason: String)] = []
    private var voices: [String: [Int16]] = [:]

    /// - Parameter logger: receives the daemon's log.
    package init(
        schedule: Schedule, logger: Logger, onProgress: @escaping @ControlPlane (Progress) -> Void
    ) throws {
        self.schedule = schedule
        self.logger = logger
        self.onProgress = onProgress
        do {
            bus = try FakeBlueZBus()
        } catch {
            throw Failure(description: "dbus-daemon does not start (\(error)): install it (`apt-get install dbus`)")
        }
        bluez = FakeBlueZ(on: bus.address)
        pacer = try AudioPacer()
        simulation = SimulatedEnvironment(pacer: pacer)
        simulation.allowsStandby = true
    }

    /// The speech of everybody, in this order: earpiece, headsets 1 and 2, far end.
    private nonisolated static func speak(seconds: Double) throws(SpeechSource.Failure) -> [[Int16]] {
        [
            try SpeechSource.speech(
                "I am standing at the gate with the handset in my hand, the parcel is too big for the letter box, so "
                    + "please tell me where you would like me to leave it.", voice: "en-us", pitch: 35,
                seconds: seconds, seed: 11),
            try SpeechSource.speech(
                "Now I talk through the first headset and walk along the fence, both of my hands are free and the line "
                    + "stayed up while the audio moved over.", voice: "en-gb", pitch: 60, seconds: seconds, seed: 12),
            try SpeechSource.speech(
                "The second headset has taken over from the handset, the call has never been interrupted and nobody "
                    + "had to touch anything.", voice: "en-us+f3", pitch: 70, seconds: seconds, seed: 13),
            try SpeechSource.speech(
                "Good morning, this is the control room. We can see you on the camera at the south entrance. Please "
                    + "keep the line open while we look for the driver, it will only take a minute.", voice: "en-gb",
                pitch: 45, seconds: seconds, seed: 14),
        ]
    }

    private static let speakers = ["earpiece", first.name, second.name]
    private var farEnd: [Int16] = []
    private var farEndStart = 0.0

    /// Interrupts it: ``run()`` throws ``CutOff``, at the latest when the recordings are compared.
    package func cutOff() { isCutOff = true }

    private func goOn() throws(CutOff) {
        if isCutOff { throw CutOff() }
    }

    // MARK: The run

    package func run() async throws -> Result {
        defer { pacer.stop() }
        let recordings: DemoRecordings
        do {
            recordings = try await record()
        } catch {
            stopWorld()
            throw error
        }
        let report = await Task.detached { [weak self] in
            recordings.report { done, count in
                Task { @ControlPlane in self?.onProgress(.comparing(done, of: count)) }
            }
        }.value
        try goOn()
        return Result(recordings: recordings, report: report, routes: routes)
    }

    private func stopWorld() {
        bluez.stop()
        bus.stop()
    }

    private func record() async throws -> DemoRecordings {
        onProgress(.note("espeak-ng speaks for everybody"))
        let length = schedule.buttonPressed + 12
        let speech = try await Task.detached { try Self.speak(seconds: length) }.value
        voices = Dictionary(uniqueKeysWithValues: zip(Self.speakers, speech))
        farEnd = speech[3]
        let daemon = try await startDaemon()
        let bridge = try await CallBridge(bus: .address(bus.address.description))
        let provider = DemoProvider(farEnd: farEnd) { [pacer] in Double(pacer.elapsed) / 1e9 }
        let registration = try await bridge.register(provider, as: CallProviderDescription(name: "demo"))
        provider.exchange.play()
        let steps: [DemoRecordings.Step]
        do {
            steps = try await playSteps(daemon, provider, registration)
        } catch {
            provider.exchange.stop()
            await bridge.close()
            await daemon.stop()
            throw error
        }
        let heard = provider.exchange.takeRecorded()
        farEndStart = provider.startedAt ?? 0
        try await registration.unregister()
        await bridge.close()
        await daemon.stop()
        stopWorld()
        return DemoRecordings(
            devices: Self.speakers.map {
                .init(
                    name: $0, played: simulation.recording(of: $0, rate: SpeechSource.rate),
                    microphone: voices[$0] ?? [])
            },
            farEnd: farEnd, farEndHeard: heard, farEndStart: farEndStart, steps: steps, lateTicks: pacer.lateTicks)
    }

    private func startDaemon() async throws -> Daemon {
        try await bluez.start()
        bluez.addAdapter(address: BluetoothAddress(value: 0x0000_5E00_5300))
        for headset in [Self.first, Self.second] {
            bluez.addHeadset(headset.address, name: headset.name, services: [.handsFree])
        }
        addMicrophones()
        let connection = try BusConnection(bus.address)
        var configuration = Configuration()
        configuration.stateDirectory = nil
        configuration.pcmSocket = nil
        // Only the demonstration switches headsets on and off.
        configuration.reconnect.isOn = false
        // The recordings are compared with the unprocessed speech.
        configuration.voiceProcessing = .none
        configuration.localDevices = [
            .earpiece: .init(playback: "simulated"), .speakerphone: .init(playback: "simulated"),
        ]
        let daemon = try Daemon(
            configuration: configuration, bus: connection, registry: DeviceRegistry(bus: connection, logger: logger),
            environment: .init(paths: simulation, opener: simulation), logger: logger)
        await daemon.start()
        daemon.router.handle(.setPreferred(.bluetooth))
        daemon.router.handle(.setDefault(.earpiece))
        connection.subscribe(interface: "org.btcall.Router1", member: "RouteChanged") { [weak self] signal in
            guard let self, let route = signal.arguments[1].stringValue, let reason = signal.arguments[2].stringValue
            else {
                return
            }
            routes.append((seconds, Self.name(route), reason))
            onProgress(.route(Self.name(route), reason: reason))
        }
        try await wait("bluetoothd to take the profile", 5) { !self.bluez.profiles.isEmpty }
        return daemon
    }

    private func addMicrophones() {
        func source(_ name: String) -> @Sendable (Int) -> [Int16] {
            let voice = voices[name] ?? []
            return { rate in OfflineResampler.convert(voice, from: SpeechSource.rate, to: rate) }
        }
        simulation.addCard(.earpiece, microphone: source("earpiece"))
        simulation.addCard(.speakerphone, microphone: { _ in [] })
        simulation.addHeadset(
            Self.first.address, name: Self.first.name, codecs: [.mSBC, .cvsd], microphone: source(Self.first.name))
        simulation.addHeadset(
            Self.second.address, name: Self.second.name, codecs: [.cvsd], microphone: source(Self.second.name))
    }

    private func playSteps(
        _ daemon: Daemon, _ provider: DemoProvider, _ registration: ProviderRegistration
    ) async throws -> [DemoRecordings.Step] {
        var steps: [DemoRecordings.Step] = []
        func begin(_ number: Int, _ title: String, limitMs: Int) {
            steps.append(.init(number: number, title: title, at: seconds, limitMs: limitMs))
            onProgress(.step(number, title))
        }
        begin(1, "a call starts without a headset", limitMs: 0)
        let call = try await registration.reportOutgoing(number: "+4930123456", name: "Control room")
        try await registration.update(call, .active)
        try await wait("audio on the earpiece", 5) { daemon.router.policy.current == .local(.earpiece) }
        let start = seconds
        func follow(until time: Double) async throws {
            while seconds < start + time {
                try goOn()
                await ControlLoop.shared.sleep(for: .milliseconds(100))
                let levels = provider.exchange.takeLevels()
                let route = daemon.router.policy.current?.device.description ?? "none"
                onProgress(
                    .levels(
                        seconds: seconds, route: Self.name(route), farEnd: levels.sent, heard: levels.received))
            }
        }
        try await follow(until: schedule.firstOn)
        begin(2, "headset 1 is switched on", limitMs: 0)
        let headset = VirtualHeadset(.init(address: Self.first.address, name: Self.first.name))
        try headset.attach(try await bluez.connect(Self.first.address))
        try await follow(until: schedule.firstDies)
        begin(3, "headset 1 dies silently", limitMs: 300)
        headset.dieSilently()
        simulation.die(Self.first.address)
        bluez.vanish(Self.first.address, noticedAfter: .seconds(3))
        try await follow(until: schedule.secondOn)
        begin(4, "headset 2 is switched on", limitMs: 0)
        let other = VirtualHeadset(.init(address: Self.second.address, name: Self.second.name, codecs: [.cvsd]))
        try other.attach(try await bluez.connect(Self.second.address))
        try await follow(until: schedule.buttonPressed)
        onProgress(.note("the button of headset 2 ends the call"))
        other.press(.hangUp)
        try await self.wait("the provider to be asked to end the call", 5) { provider.hasEnded }
        other.detach()
        headset.detach()
        return steps
    }

    private func wait(_ what: String, _ limit: Double, _ condition: @ControlPlane () -> Bool) async throws {
        let end = seconds + limit
        while !condition() {
            try goOn()
            guard seconds < end else { throw Failure(description: "waited \(limit) s in vain for \(what)") }
            await ControlLoop.shared.sleep(for: .milliseconds(10))
        }
    }

    private var seconds: Double { Double(pacer.elapsed) / 1e9 }

    private static func name(_ route: String) -> String {
        if route == "bluetooth:\(first.address)" { return first.name }
        if route == "bluetooth:\(second.address)" { return second.name }
        return route
    }
}
