import ALSA
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import Configuration
import ControlLoop
import DBus
import Routing
import Synchronization
import TestSupport
import Testing

/// The settings that a program asks for, and the requests that it got.
private final class RequestedSettings: Sendable {
    private struct State {
        var change: @Sendable (inout AudioSettings) -> Void = { _ in }
        var asked: [DeviceChoice] = []
        var seen: [AudioSettings] = []
        var isHolding = false
    }

    private let state = Mutex(State())

    var asked: [DeviceChoice] { state.withLock(\.asked) }
    /// The settings passed to the program.
    var seen: [AudioSettings] { state.withLock(\.seen) }
    /// Whether answers are held back.
    var isHolding: Bool {
        get { state.withLock(\.isHolding) }
        set { state.withLock { $0.isHolding = newValue } }
    }

    func set(_ change: @escaping @Sendable (inout AudioSettings) -> Void) { state.withLock { $0.change = change } }

    @ControlPlane func configure(_ device: DeviceChoice, _ settings: inout AudioSettings) async {
        let seen = settings
        let change = state.withLock { state in
            state.asked.append(device)
            state.seen.append(seen)
            return state.change
        }
        while isHolding { await ControlLoop.shared.sleep(for: .milliseconds(5)) }
        change(&settings)
    }
}

extension DaemonTests {
    @Suite @ControlPlane struct AudioSettingsTests {
        private let requested = RequestedSettings()

        private func configure(_ bridge: CallBridge) async throws -> AudioSessionConfiguration {
            let requested = requested
            return try await bridge.configureAudioSession { device, settings in
                await requested.configure(device, &settings)
            }
        }

        @Test func `S4.9 library: the closure sets the sound card's period, and the result is reported back`()
            async throws
        {
            ALSAEnvironment.prepare()
            var devices: Configuration?
            try await Box.run(
                configure: {
                    // Long enough never to expire: the requested settings are compared.
                    $0.timeouts.audioSettings = .seconds(10)
                    $0.localDevices = [
                        .speakerphone: .init(playback: "null", capture: "null"),
                        .earpiece: .init(playback: "null", capture: "null"),
                    ]
                    $0.periodMilliseconds = 20
                    devices = $0
                },
                environment: { environment in
                    if let devices { environment.paths = ALSAPathOpener(configuration: devices) }
                },
                body: { box in
                    try await box.prefer(.none)
                    #expect(try await box.bridge.session.openedAudio() == nil)
                    let registration = try await box.register()
                    let configuration = try await configure(box.bridge)
                    requested.set { $0.periodMilliseconds = 10 }
                    let call = try await box.startCall(registration)
                    try await eventually("the earpiece is open") {
                        try await box.bridge.session.openedAudio()?.device == .earpiece
                    }
                    let opened = try #require(try await box.bridge.session.openedAudio())
                    #expect(opened.periodMilliseconds == 10 && opened.rate == 48_000)
                    #expect(requested.asked == [.earpiece])
                    let given = try #require(requested.seen.first)
                    #expect(given.periodMilliseconds == 20 && given.mode == .voice && given.override == .none)
                    #expect(given.directions == .playAndRecord && given.excluded.isEmpty && given.allowsBluetooth)
                    // Another period for the next device.
                    requested.set { $0.periodMilliseconds = 5 }
                    try await box.bridge.audioDeviceManager.select(.speakerphone)
                    try await eventually("the loudspeaker is open") {
                        try await box.bridge.session.openedAudio()?.device == .speakerphone
                    }
                    #expect(try await box.bridge.session.openedAudio()?.periodMilliseconds == 5)
                    #expect(requested.seen.map(\.periodMilliseconds) == [20, 10])
                    // Without the program the configuration applies.
                    try await configuration.end()
                    try await box.bridge.audioDeviceManager.select(.earpiece)
                    try await eventually("the earpiece is open") {
                        try await box.bridge.session.openedAudio()?.device == .earpiece
                    }
                    #expect(try await box.bridge.session.openedAudio()?.periodMilliseconds == 20)
                    #expect(requested.asked.count == 2)
                    try await registration.update(call, .ended)
                })
        }

        @Test func `S4.9 library: directions, mode, excluded devices and the override take effect`() async throws {
            let cards = PacedBoard()
            try await Box.run(
                configure: {
                    $0.timeouts.audioSettings = .seconds(10)
                },
                environment: { $0.paths = cards },
                body: { box in
                    try await box.prefer(.none, default: .earpiece)
                    let registration = try await box.register()
                    let configuration = try await configure(box.bridge)
                    requested.set {
                        $0.directions = .play
                        $0.mode = .media
                    }
                    var call = try await box.startCall(registration)
                    try await eventually("the earpiece is open") { cards.opened == ["earpiece playback"] }
                    #expect(try await box.bridge.audio.isVoiceProcessingBypassed())
                    try await registration.update(call, .ended)
                    try await eventually("it is closed") { cards.openSpeakers == 0 }
                    // The loudspeaker in place of the policy's choice.
                    requested.set {
                        $0.directions = .playAndRecord
                        $0.mode = .voice
                        $0.override = .speakerphone
                    }
                    call = try await box.startCall(registration)
                    try await box.route(.speakerphone)
                    try await eventually("its microphone is open") { cards.opened.last == "speakerphone capture" }
                    #expect(try await !box.bridge.audio.isVoiceProcessingBypassed())
                    try await registration.update(call, .ended)
                    try await eventually("it is closed") { cards.openSpeakers == 0 }
                    // An excluded device is left alone, and the changes end with the program.
                    requested.set {
                        $0.override = .none
                        $0.excluded = [.earpiece]
                        $0.allowsBluetooth = false
                    }
                    call = try await box.startCall(registration)
                    try await box.route(.speakerphone)
                    #expect(requested.seen.contains { $0.override == .speakerphone })
                    try await configuration.end()
                    try await box.route(.earpiece)
                    try await registration.update(call, .ended)
                })
        }

        @Test func `S4.9 library: a late program delays one device by the budget, no further ones, and may die`()
            async throws
        {
            try await Box.run(
                configure: { $0.timeouts.audioSettings = .milliseconds(100) },
                body: { box in
                    try await box.prefer(.none)
                    let program = try await CallBridge(bus: .address("\(box.address)"))
                    _ = try await configure(program)
                    requested.isHolding = true
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await box.playing("earpiece")
                    #expect(!box.log.containing("notice", "devices no longer wait for it").isEmpty)
                    #expect(requested.asked == [.earpiece])
                    // If this device waited for the answer, it would wait forever.
                    try await box.bridge.audioDeviceManager.select(.speakerphone)
                    try await box.playing("speakerphone")
                    try await eventually("the program is asked again") {
                        self.requested.asked == [.earpiece, .speakerphone]
                    }
                    requested.isHolding = false
                    // A program that was late once on a busy machine is asked again with the next device.
                    var next = DeviceChoice.earpiece
                    for _ in 1...5 where box.log.containing("configures the audio in time").isEmpty {
                        try await box.bridge.audioDeviceManager.select(next)
                        try await box.playing("\(next)")
                        next = next == .earpiece ? .speakerphone : .earpiece
                        await ControlLoop.shared.sleep(for: .milliseconds(200))
                    }
                    #expect(!box.log.containing("configures the audio in time").isEmpty)
                    try await box.bridge.audioDeviceManager.select(.earpiece)
                    try await box.playing("earpiece")
                    let asked = requested.asked.count
                    // The program dies while a device waits for it.
                    requested.isHolding = true
                    try await box.bridge.audioDeviceManager.select(.speakerphone)
                    try await eventually("the application is asked") { self.requested.asked.count > asked }
                    await program.close()
                    try await box.playing("speakerphone")
                    requested.isHolding = false
                    // Another program can register now.
                    let other = try await configure(box.bridge)
                    let third = try await CallBridge(bus: .address("\(box.address)"))
                    #expect(
                        await refusal { () throws(BridgeError) in
                            _ = try await third.configureAudioSession { _, _ in }
                        }?.code == .wrongState)
                    await third.close()
                    try await other.end()
                    #expect(await refusal { () throws(BridgeError) in try await other.end() } != nil)
                })
        }

        @Test func `An invalid answer is ignored as a whole, with the reason in the log`() async throws {
            try await Box.run(
                configure: { $0.timeouts.audioSettings = .seconds(10) },
                body: { box in
                    try await box.prefer(.none)
                    let answers = Mutex<[[String: Value]]>([
                        ["period": .uint32(4), "override": "speakerphone"],
                        ["mode": "loud", "exclude": .strings(["earpiece"])],
                        ["exclude": .strings(["none"])], ["period": "10"], ["directions": .uint32(1)],
                        ["exlude": .strings(["earpiece"])],
                        ["exclude": .strings((10..<75).map { "bluetooth:00:00:5E:00:53:\($0)" })],
                    ])
                    let program = try BusConnection(box.address)
                    program.export(
                        [
                            ExportedInterface(
                                BTCallName.Interface.audioConfigurator,
                                methods: [
                                    .init("Configure", in: [("d", "s"), ("s", "a{sv}")], out: [("s", "a{sv}")]) { _ in
                                        [.vardict(answers.withLock { $0.isEmpty ? [:] : $0.removeFirst() })]
                                    }
                                ])
                        ], at: "/audio")
                    _ = try await program.call(
                        BTCallName.bus, BTCallPath.session, BTCallName.Interface.session, "RegisterConfigurator",
                        [.objectPath("/audio")])
                    let registration = try await box.register()
                    for text in ["period", "mode", "exclude", "period", "directions", "mean 'exclude'?", "at most 64"] {
                        let before = box.log.containing("ignored as a whole").count
                        let call = try await box.startCall(registration)
                        try await box.route(.earpiece)
                        try await eventually("the answer is in the log") {
                            box.log.containing("ignored as a whole").count == before + 1
                        }
                        #expect(box.log.containing("ignored as a whole").last?.contains(text) == true)
                        try await box.playing("earpiece")
                        try await registration.update(call, .ended)
                        try await box.route(.none)
                    }
                    // A program without the object costs only a log line.
                    program.unexport(path: "/audio")
                    _ = try await box.startCall(registration)
                    try await box.playing("earpiece")
                    try await eventually("the line is logged") {
                        !box.log.containing("does not configure the audio").isEmpty
                    }
                    program.close()
                })
        }
    }
}
