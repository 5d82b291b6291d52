import BTCall
import BTCallAPI
import BTCallDaemon
import BTCallSimulator
import CallExchange
import Configuration
import ControlLoop
import DBus
import TestSupport
import Testing

extension DaemonTests {
    /// The problems of calls that nobody hears.
    @Suite @ControlPlane struct CallAudibilityTests {
        private static func impatient(_ configuration: inout Configuration) {
            configuration.timeouts.silence = .milliseconds(200)
            configuration.timeouts.quality = .milliseconds(50)
        }

        private static func withoutDevices(_ configuration: inout Configuration) {
            impatient(&configuration)
            configuration.localDevices = [:]
        }

        @Test func `a box without devices and headsets reports the problem before any call`() async throws {
            try await Box.run(
                isBlueZRunning: false, configure: Self.withoutDevices,
                body: { box in
                    let problem = try await box.problem("noDevice")
                    #expect(problem.what == "no device could carry a call: nobody would hear it")
                    #expect(problem.remedy.contains("btcall headset pair") && problem.remedy.contains("btcall setup"))
                    let status = try await Program(box.address)("status")
                    #expect(status.text.contains(problem.what), "\(status.text)")
                    #expect(!status.text.contains("calls use local devices"), "\(status.text)")
                    // A paired headset may be switched on.
                    try await box.bluez.start()
                    try await box.noProblem("noDevice")
                })
        }

        @Test func `with local devices the problem of an absent bluetoothd says that calls use them`() async throws {
            try await Box.run(
                isBlueZRunning: false, configure: Self.impatient,
                body: { box in
                    let problem = try await box.problem("bluetoothd")
                    #expect(problem.remedy.contains("calls use local devices meanwhile"))
                    await ControlLoop.shared.sleep(for: .milliseconds(400))
                    #expect(try await box.bridge.status().problems.allSatisfy { $0.id != "noDevice" })
                })
        }

        @Test func `a call without a device is a problem until it has one`() async throws {
            try await Box.run(
                configure: Self.withoutDevices,
                body: { box in
                    await ControlLoop.shared.sleep(for: .milliseconds(400))
                    #expect(try await box.bridge.status().problems.allSatisfy { $0.id != "noDevice" })
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    let problem = try await box.problem("noDevice")
                    #expect(problem.what == "no device carries the call: nobody hears it")
                    #expect(problem.remedy.contains("switch a paired headset on"))
                    #expect(try await box.bridge.calls.list().first?.audioProblem == problem.what)
                    let shown = try await Program(box.address)("call", "show", "\(call)").text
                    #expect(shown.contains("Audio     none: \(problem.what)\n"), "\(shown)")
                    let ears = try await box.connect(Box.first)
                    try await box.noProblem("noDevice")
                    try await eventually("the call has audio") {
                        try await box.bridge.calls.list().first.map { $0.audioProblem == nil } ?? false
                    }
                    withExtendedLifetime(ears) {}
                })
        }

        @Test func `a test call without a device fails, and claims no microphone`() async throws {
            try await Box.run(
                configure: Self.withoutDevices,
                body: { box in
                    let run = try await Program(box.address)(
                        "test-call", "--outgoing", "--answer-after", "0", "--seconds", "4")
                    #expect(run.status == 1)
                    #expect(run.text.contains("no device carries the call: nothing is heard here"), "\(run.text)")
                    #expect(run.text.contains("Heard   by nobody"), "\(run.text)")
                    #expect(!run.text.contains("microphone"), "\(run.text)")
                    let json = try await Program(box.address)(
                        "test-call", "--outgoing", "--answer-after", "0", "--seconds", "0.3", "--json")
                    #expect(json.status == 1 && json.text.contains("\"heard\": false"), "\(json.text)")
                })
        }

        @Test func `call quality is unknown while the application never reads its audio`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let idle = IdleTelephone()
                    let registration = try await box.bridge.register(idle, as: .init(name: "idle", capabilities: []))
                    let call = try await box.startCall(registration)
                    try await box.route(.earpiece)
                    let problem = try await box.problem("callAudio")
                    #expect(problem.what.contains("idle neither reads nor answers the audio"))
                    #expect(problem.remedy.contains("AudioReady"))
                    let shown = try #require(try await box.bridge.calls.list().first)
                    #expect(shown.quality == nil && shown.totalQuality == nil && shown.link?.device == .earpiece)
                    let properties = try await box.client.call(
                        BTCallName.bus, BTCallPath.call("\(call)"), "org.freedesktop.DBus.Properties", "Get",
                        [.string(BTCallName.Interface.call), .string(BTCallName.Call.quality)])
                    #expect(properties.first?.unwrapped == .int32(-1))
                    let program = try Program(box.address)
                    let text = try await program("call", "show").text
                    #expect(text.contains("Quality   not known\n"), "\(text)")
                    #expect(text.contains("Audio     none: idle neither reads nor answers"), "\(text)")
                    #expect(try await program("call", "show", "--json").text.contains("\"quality\": null"))
                    idle.begin()
                    try await box.noProblem("callAudio")
                    try await eventually("the quality is known") {
                        try await box.bridge.calls.list().first?.quality?.score != nil
                    }
                })
        }

        @Test func `an application that refuses a descriptor is named with its message`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let path = "/org/example/application"
                    box.client.export(
                        [
                            ExportedInterface(
                                BTCallName.Interface.callProvider,
                                methods: [
                                    .init(
                                        BTCallName.CallProvider.audioReady,
                                        in: [("call", "o"), ("audio", "h"), ("format", "a{sv}")]
                                    ) { _ throws(BusError) in throw .failed("descriptors are not supported here") }
                                ])
                        ], at: path)
                    _ = try await box.client.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.registerProvider,
                        [.objectPath(path), .vardict(["name": "plain"])])
                    let reply = try await box.client.call(
                        BTCallName.bus, BTCallPath.calls, BTCallName.Interface.calls, BTCallName.Calls.reportOutgoing,
                        [.objectPath(path), "5550100", .vardict(["state": "active"])])
                    #expect(reply.count == 1)
                    let problem = try await box.problem("callAudio")
                    #expect(problem.what.contains("descriptors are not supported here"), "\(problem.what)")
                    let call = try #require(try await box.bridge.calls.list().first)
                    #expect(call.quality == nil)
                    #expect(call.audioProblem?.contains("plain refused AudioReady") == true)
                })
        }

        @Test func `the problem of a silent call names the application that closed its audio`() async throws {
            try await Box.run(
                configure: Self.impatient,
                body: { box in
                    let registration = try await box.bridge.register(
                        DeafTelephone(), as: .init(name: "deaf", capabilities: []))
                    _ = try await box.startCall(registration)
                    #expect(
                        try await box.problem("callAudio").what
                            == "call 1 has no audio: deaf has closed the audio that it was given")
                })
        }
    }
}

/// Keeps the audio of its call, and does not use it until started.
private final class IdleTelephone: CallProvider {
    private let quiet = QuietTelephone()
    private let kept = Kept()

    @ControlPlane private final class Kept {
        var audio: CallAudio?
        nonisolated init() {}
    }

    @ControlPlane func begin() {
        guard let audio = kept.audio else { return }
        quiet.exchange.play()
        quiet.exchange.start(audio) {}
    }

    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {}
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {}
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {}
    @ControlPlane func audioReady(_ call: Call.ID, _ audio: CallAudio) async { kept.audio = audio }
    func released() async {}
}

/// Closes the audio of its calls at once.
private final class DeafTelephone: CallProvider {
    func performStart(_ call: Call.ID, number: String) async throws(ProviderRefusal) {}
    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func performSetHeld(_ call: Call.ID, _ held: Bool) async throws(ProviderRefusal) {}
    func performDTMF(_ call: Call.ID, tones: String) async throws(ProviderRefusal) {}
    func audioReady(_ call: Call.ID, _ audio: CallAudio) async {}
    func released() async {}
}
