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
import Logging
import Routing

/// A box for experiments: the daemon's real code on a private bus, with a simulated BlueZ, two headsets, an earpiece, a
/// loudspeaker, and a telephony application.
@ControlPlane
package final class Sandbox {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Receives one line per event; it may contain text from other programs.
    package var onStory: (@ControlPlane (String) -> Void)?
    package private(set) var state: SandboxState

    let options: SandboxOptions
    private let bus: FakeBlueZBus
    private let bluez: FakeBlueZ
    private let pacer: AudioPacer
    private let simulation: SimulatedEnvironment
    private let headsets: [SandboxHeadset]
    private let talkKeys: SandboxTalkKeys
    private var daemon: Daemon?
    private var bridge: CallBridge?
    private var line: SandboxLine?
    private var registration: ProviderRegistration?
    private var following: Task<Void, Never>?
    /// Whether something has happened since the status was read.
    private var isStale = true
    private var isReading = false
    private var isStopped = false
    private static let cards: [(kind: LocalDevice, name: String)] = [
        (.earpiece, "earpiece"), (.speakerphone, "loudspeaker"),
    ]

    package init(_ options: SandboxOptions = SandboxOptions()) throws {
        self.options = options
        do {
            bus = try FakeBlueZBus()
        } catch {
            throw Failure(description: "dbus-daemon does not start (\(error)): install it (`apt-get install dbus`)")
        }
        pacer = try AudioPacer(isRecording: options.recordings != nil)
        let bluez = FakeBlueZ(on: bus.address)
        let simulation = SimulatedEnvironment(pacer: pacer)
        self.bluez = bluez
        self.simulation = simulation
        talkKeys = SandboxTalkKeys(bluez)
        headsets = [
            SandboxHeadset(
                BluetoothAddress(value: 0x0000_5E00_5301), name: "headset 1", codecs: [.mSBC, .cvsd], bluez: bluez,
                simulation: simulation),
            SandboxHeadset(
                BluetoothAddress(value: 0x0000_5E00_5302), name: "headset 2", codecs: [.cvsd], bluez: bluez,
                simulation: simulation),
        ]
        state = SandboxState(bus: bus.address.description)
        state.devices = headsets.map { SandboxState.Device(name: $0.name, power: .off) }
        state.talkMode = options.talk?.rawValue
        state.devices += Self.cards.map { SandboxState.Device(name: $0.name, power: .fixed) }
    }

    // MARK: Start and end

    package func start() async throws {
        try await bluez.start()
        bluez.addAdapter(address: BluetoothAddress(value: 0x0000_5E00_5300))
        for headset in headsets {
            bluez.addHeadset(headset.address, name: headset.name, services: [.handsFree])
            bluez.setReachable(false, headset.address)
            let name = headset.name
            headset.onRing = { [weak self] in self?.tell("\(name) rings") }
        }
        if options.talk != nil { talkKeys.addButtons() }
        addMicrophones()
        try await startDaemon()
        let bridge = try await CallBridge(bus: .address(bus.address.description))
        self.bridge = bridge
        let line = SandboxLine(farEnd: SandboxVoices.farEnd()) { note in
            Task { @ControlPlane [weak self] in self?.tell(note) }
        }
        self.line = line
        let events = await bridge.events()
        following = Task { @ControlPlane [weak self] in
            for await event in events { self?.handle(event) }
        }
        let registration = try await bridge.register(
            line, as: CallProviderDescription(name: "sandbox", capabilities: [.hold, .swap, .dtmf, .dial]))
        self.registration = registration
        line.use(registration)
    }

    private func addMicrophones() {
        // Prepared in advance, so that opening a card or link does not wait for it.
        for (index, card) in Self.cards.enumerated() {
            let voice = voice(index + headsets.count, rate: SimulatedEnvironment.cardRate)
            simulation.addCard(card.kind) { _ in voice }
        }
        for (index, headset) in headsets.enumerated() {
            let voices = Dictionary(
                uniqueKeysWithValues: headset.codecs.map { ($0.sampleRate, voice(index, rate: $0.sampleRate)) })
            simulation.addHeadset(headset.address, name: headset.name, codecs: headset.codecs) { voices[$0] ?? [] }
        }
    }

    private func voice(_ person: Int, rate: Int) -> [Int16] {
        options.tone.map { SandboxVoices.tone($0, rate: rate) } ?? SandboxVoices.person(person, rate: rate)
    }

    private func startDaemon() async throws {
        var configuration = Configuration()
        configuration.stateDirectory = nil
        configuration.pcmSocket = options.pcmSocket
        // The person switches headsets on; btcalld pages none.
        configuration.reconnect.isOn = false
        configuration.voiceProcessing = .none
        configuration.pausesPlayers = false
        // The user need not be in a group of btcall.
        configuration.callers = .everybody
        configuration.localDevices = [
            .earpiece: .init(playback: "simulated"), .speakerphone: .init(playback: "simulated"),
        ]
        if let talk = options.talk {
            try SandboxTalkKeys.configure(
                &configuration, mode: talk.rawValue, linkHeadset: headsets[1].address)
        }
        var logger = Logger(label: "btcall.sandbox")
        logger.logLevel = .warning
        let connection = try BusConnection(bus.address)
        let daemon = try Daemon(
            configuration: configuration, bus: connection, registry: DeviceRegistry(bus: connection, logger: logger),
            environment: .init(paths: simulation, opener: simulation), logger: logger)
        self.daemon = daemon
        await daemon.start()
        daemon.router.handle(.setPreferred(.bluetooth))
        daemon.router.handle(.setDefault(.earpiece))
        let end = ControlLoop.now.advanced(by: .seconds(5))
        while bluez.profiles.isEmpty {
            guard ControlLoop.now < end else {
                throw Failure(description: "the simulated bluetoothd was not given a profile within 5 s")
            }
            await ControlLoop.shared.sleep(for: .milliseconds(10))
        }
    }

    /// Ends everything, in any state; a second call does nothing.
    package func stop() async {
        guard !isStopped else { return }
        isStopped = true
        following?.cancel()
        // The bus that could refuse this ends, too.
        try? await registration?.unregister()
        await bridge?.close()
        for headset in headsets { headset.switchOff() }
        await daemon?.stop()
        bluez.stop()
        bus.stop()
        pacer.stop()
    }

    /// A device's playback from the start of the sandbox.
    ///
    /// - Parameter name: as in ``state``.
    func recorded(_ name: String, rate: Int) -> [Int16] {
        let card = Self.cards.first { $0.name == name }
        return simulation.recording(of: card?.kind.rawValue ?? name, rate: rate)
    }

    // MARK: Actions of the person

    /// Performs a key's action, and reports the result.
    package func perform(_ key: SandboxKey) async {
        do {
            switch key {
            case .switchFirst: try await toggle(headsets[0])
            case .switchSecond: try await toggle(headsets[1])
            case .killFirst: kill(headsets[0])
            case .killSecond: kill(headsets[1])
            case .pressFirst: press(headsets[0])
            case .pressSecond: press(headsets[1])
            case .callOut: try await callOut()
            case .callIn: try await registerCall { try await $0.reportIncoming(number: "+4930123456", name: "Alice") }
            case .answer: try await answer()
            case .end: for call in try await calls() { try await bridge?.calls.hangup(call.id) }
            case .farEndHangsUp:
                for call in try await calls() {
                    try await registration?.update(call.id, .ended, reason: .remoteHangUp)
                }
            case .mute: try await bridge?.calls.setMuted(!state.isMuted)
            case .talkFirst, .talkSecond, .talkSerial, .talkLowEnergy: toggleTalk(key)
            }
        } catch let error as BridgeError {
            tell("\(key.meaning): \(error.message)")
        } catch {
            tell("\(key.meaning): \(error)")
        }
        isStale = true
    }

    private func toggle(_ headset: SandboxHeadset) async throws {
        if headset.state == .on {
            headset.switchOff()
            tell("\(headset.name) is switched off")
        } else {
            tell("\(headset.name) is switched on")
            try await headset.switchOn()
        }
    }

    private func kill(_ headset: SandboxHeadset) {
        guard headset.state == .on else { return tell("\(headset.name) is not on") }
        headset.kill()
        tell("\(headset.name) has died silently")
    }

    private func press(_ headset: SandboxHeadset) {
        let meaning = headset.press()
        tell(meaning.map { "the button of \(headset.name): \($0)" } ?? "\(headset.name) is not connected")
    }

    private func toggleTalk(_ key: SandboxKey) {
        guard options.talk != nil else { return tell("no talk keys: start the sandbox with --talk push") }
        let isPressed: Bool? =
            switch key {
            case .talkFirst: headsets[0].toggleTalk(byLink: false)
            case .talkSecond: headsets[1].toggleTalk(byLink: true)
            case .talkSerial: talkKeys.toggleSerial()
            default: talkKeys.toggleLowEnergy()
            }
        tell("\(key.meaning): \(isPressed.map { $0 ? "pressed" : "released" } ?? "not connected")")
    }

    private func callOut() async throws {
        try await registerCall { registration in
            let call = try await registration.reportOutgoing(number: "+4930654321", name: "Control room")
            Task { @ControlPlane in await SandboxLine.answerLater(call, registration) }
            return call
        }
    }

    private func registerCall(_ report: (ProviderRegistration) async throws -> Call.ID) async throws {
        guard let registration else { throw Failure(description: "the sandbox has not started yet") }
        _ = try await report(registration)
    }

    private func answer() async throws {
        guard let call = try await calls().first(where: { $0.state == .ringing || $0.state == .waiting }) else {
            return tell("no call is ringing")
        }
        try await bridge?.calls.answer(call.id)
    }

    private func calls() async throws -> [Call] {
        let calls = try await bridge?.calls.list() ?? []
        return calls.filter { $0.state != .ended }
    }

    // MARK: Events

    private func tell(_ text: String) {
        onStory?(text)
    }

    private func handle(_ event: BridgeEvent) {
        isStale = true
        switch event {
        case .routeChanged(_, let new, let reason): tell("the call is on: \(name(new)) (\(reason))")
        case .activationFailed(let device): tell("\(name(device)) did not open its link")
        case .callAdded(let call):
            tell("\(call.direction.rawValue) call, \(call.state.rawValue): \(Self.party(call)), by \(call.provider)")
        case .callStateChanged(_, let state, let reason): tell("the call is \(state.rawValue)\(Self.because(reason))")
        case .callRemoved(let call, _): line?.forget(call)
        case .buttonPressed(let address, let button):
            tell("btcalld: button \(button) of \(DeviceChoice.bluetooth(address: address).map { name($0) } ?? address)")
        case .mutedChanged(let muted): tell(muted ? "microphone muted" : "microphone on")
        case .callTalkChanged(_, let state, let holder):
            tell("push to talk: \(([state.rawValue] + (holder.map { [$0] } ?? [])).joined(separator: ", "))")
        case .problemsChanged(let problems): for problem in problems { tell("\(problem.what): \(problem.remedy)") }
        default: break
        }
    }

    private func name(_ choice: DeviceChoice) -> String {
        if choice == .speakerphone { return "loudspeaker" }
        let headset = headsets.first { choice == DeviceChoice.bluetooth(address: "\($0.address)") }
        return headset?.name ?? choice.description
    }

    private static func because(_ reason: String?) -> String { reason.map { " (\($0))" } ?? "" }

    private static func party(_ call: Call) -> String { call.name ?? call.number ?? "unknown number" }

    /// Updates ``state``: levels at once, the daemon's status as soon as it has answered.
    package func look() {
        for (index, headset) in headsets.enumerated() {
            state.devices[index].power = headset.state
            state.devices[index].heard = simulation.takePeak(headset.name)
        }
        for (index, card) in Self.cards.enumerated() {
            state.devices[headsets.count + index].heard = simulation.takePeak(card.kind.rawValue)
        }
        state.farEndHeard = line?.takeHeard() ?? 0
        guard isStale, !isReading, let bridge else { return }
        isReading = true
        isStale = false
        Task { @ControlPlane [weak self] in
            await self?.read(bridge)
            self?.isReading = false
        }
    }

    private func read(_ bridge: CallBridge) async {
        do throws(BridgeError) {
            let status = try await bridge.status()
            let explanation = try await bridge.audioDeviceManager.explain()
            state.route = name(status.route)
            state.link = [status.mode?.uppercased(), status.codec].compactMap { $0 }.joined(separator: " ")
            state.isMuted = status.isMuted
            state.why = [explanation.level, explanation.reason.map { "(\($0))" }].compactMap { $0 }
                .joined(separator: " ")
            state.calls = status.calls.map { call in
                let talk = call.talkMode == .off ? "" : " (\(call.talkState.rawValue))"
                let state = "\(call.direction.rawValue), \(call.state.rawValue)\(talk)"
                return "\(state): \(Self.party(call)), by \(call.provider)"
            }
        } catch {
            state.why = error.message
        }
    }
}
