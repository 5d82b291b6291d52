import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The audio device manager through the Swift library, for the rows without another test through it.
    @Suite @ControlPlane struct LibraryDeviceTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none
        private let second = Choice("bluetooth:\(Box.second)") ?? .none

        private func device(_ box: Box, _ choice: Choice) async throws -> BTCall.AudioDevice {
            try #require(try await box.bridge.audioDeviceManager.audioDevices().first { $0.choice == choice })
        }

        @Test func `S0.5 library: audioDevices() returns the latest list, whatever happens to a headset`() async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                let log = await EventLog(box.bridge)
                var ears: Ears?
                let steps: [(String, @ControlPlane () async throws -> Void, (BTCall.AudioDevice?) -> Bool)] = [
                    (
                        "it connects", { ears = try await box.connect(Box.first) },
                        { $0?.isAvailable == true && $0?.battery == 70 && $0?.unavailableBecause == nil }
                    ),
                    ("its battery falls", { ears?.headset.tellBattery(20) }, { $0?.battery == 20 }),
                    (
                        "it is excluded", { try await manager.setExcludedAudioDevices([.bluetooth]) },
                        { $0?.isAvailable == false && $0?.unavailableBecause == "excluded" }
                    ),
                    (
                        "it may be used again", { try await manager.setExcludedAudioDevices([]) },
                        { $0?.isAvailable == true }
                    ),
                    ("it leaves", { box.bluez.disconnect(Box.first) }, { $0?.isAvailable == false }),
                    ("it is unpaired", { box.bluez.remove(Box.first) }, { $0 == nil }),
                ]
                for (what, action, isExpected) in steps {
                    try await action()
                    try await eventually("devicesChanged says that \(what)") {
                        guard let told = log.devices, isExpected(told.first(where: { $0.choice == first })) else {
                            return false
                        }
                        let listed = try await manager.audioDevices()
                        // A change while the list was requested belongs to neither.
                        return listed == told && log.devices == told
                    }
                }
                #expect(try await manager.audioDevices().map(\.kind).contains("earpiece"))
            }
        }

        @Test func `S0.32 library: audioDevices(available:) has the devices that can be used, or the others`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await manager.setExcludedAudioDevices([.earpiece])
                #expect(try await manager.audioDevices(available: true).map(\.choice) == [.speakerphone])
                let others = try await manager.audioDevices(available: false).map(\.choice)
                #expect(others.contains(.earpiece) && !others.contains(.speakerphone))
                let all = try await manager.audioDevices()
                #expect(all.count == others.count + 1)
            }
        }

        @available(*, deprecated)
        @Test func `S0.7 library: setDefaultDevice(_:) is an alias of setDefaultAudio(_:)`() async throws {
            try await Box.run { box in
                try await box.bridge.audioDeviceManager.setDefaultDevice(.speakerphone)
                #expect(try await box.bridge.audioDeviceManager.defaultAudioDevice() == .speakerphone)
                #expect(try await box.bridge.status().defaultDevice == .speakerphone)
            }
        }

        @Test
        func `S0.10 S0.11 S0.12 S1.2 library: the functions named as in voice kits delay, start and stop the audio`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await manager.useManualAudioForCallKit()
                #expect(try await box.bridge.session.isManual())
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await eventually("the application has its audio") { box.telephone.requests == [.audio(call)] }
                #expect(box.simulation.opened.isEmpty && box.daemon.graph.isQuiet)
                let session = try await manager.activeCallKitAudioSession()
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await manager.deactiveCallKitAudioSession()
                try await box.route(.none)
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                let again = await refusal { () throws(BridgeError) in try await manager.deactiveCallKitAudioSession() }
                #expect(again?.code == .wrongState && again?.message.contains("Activate") == true)
                session.release()
                #expect(box.simulation.opened == ["earpiece"])
            }
        }

        @Test func `S0.15 library: a stream delivers each route change once, with old route, new route and reason`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                let log = await EventLog(box.bridge)
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await manager.select(.speakerphone)
                try await manager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await manager.clearSelection()
                try await box.route(.earpiece)
                try await manager.setAudioDevice(.speakerphone)
                try await box.route(.speakerphone)
                try await registration.update(call, .ended)
                try await box.route(.none)
                try await eventually("the end is reported") { log.routes.last == "speakerphone none callEnded" }
                #expect(
                    log.routes == [
                        "none earpiece callStarted", "earpiece speakerphone userSelection",
                        "speakerphone earpiece userSelection", "earpiece speakerphone preferenceChanged",
                        "speakerphone none callEnded",
                    ])
            }
        }

        @Test func `S0.16 library: an excluded device is listed with its reason and never opened`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                #expect(try await manager.excludedAudioDevices().isEmpty)
                try await manager.setExcludedAudioDevices([.earpiece, first])
                #expect(try await manager.excludedAudioDevices() == [.earpiece, first])
                try await box.prefer(first, default: .earpiece)
                _ = try await box.connect(Box.first)
                #expect(try await device(box, first).unavailableBecause == "excluded")
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.speakerphone)
                let refused = await refusal { () throws(BridgeError) in try await manager.select(first) }
                #expect(refused?.code == .unavailable)
                #expect(box.simulation.opened == ["speakerphone"])
                // The call moves when its device is excluded.
                try await manager.setExcludedAudioDevices([.speakerphone, .bluetooth])
                try await box.route(.earpiece)
                #expect(box.simulation.opened == ["speakerphone", "earpiece"])
            }
        }

        @Test func `S0.20 library: .speakerphone is the loudspeaker with the board's microphone`() async throws {
            try await Box.run { box in
                try await box.bridge.audioDeviceManager.setAudioDevice(.speakerphone)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.speakerphone)
                let speakerphone = try await device(box, .speakerphone)
                #expect(speakerphone.output == "speaker" && speakerphone.input == "builtinMic")
                #expect(speakerphone.isDuplex && speakerphone.state == "active")
                try await box.playing("speakerphone")
                try await eventually("the far end hears its microphone") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                #expect(box.simulation.opened == ["speakerphone"])
            }
        }

        @Test func `S0.24 library: .none is no preference: the default device, otherwise the platform's order`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.earpiece, default: .speakerphone)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await manager.setAudioDevice(.none)
                #expect(try await manager.preferredAudioDevice() == .none)
                try await box.route(.speakerphone)
                #expect(try await manager.explain().level == "default")
                try await manager.setDefaultAudio(.none)
                try await box.route(.earpiece)
                #expect(try await manager.explain().level == "platformOrder")
                #expect(try await manager.selectedAudioDevice() == .earpiece)
            }
        }

        @Test func `S0.25 library: a preferred device is used at once if available, otherwise when it appears`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                let log = await EventLog(box.bridge)
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await manager.setAudioDevice(.speakerphone)
                try await box.route(.speakerphone)
                try await manager.setAudioDevice(.earpiece)
                try await box.route(.earpiece)
                // The device is absent: the choice is stored, and nothing changes.
                try await manager.setAudioDevice(first)
                #expect(try await manager.preferredAudioDevice() == first)
                #expect(try await manager.activeRoute() == .earpiece)
                let level = try await manager.explain().levels.first { $0.name == "preferred" }
                #expect(level?.spec == first.description && level?.isEligible == false)
                _ = try await box.connect(Box.first)
                try await box.route(first)
                try await eventually("it is reported") { log.routes.count >= 4 }
                #expect(
                    log.routes == [
                        "none earpiece callStarted", "earpiece speakerphone preferenceChanged",
                        "speakerphone earpiece preferenceChanged", "earpiece \(first) newDeviceAvailable",
                    ])
            }
        }

        @Test func `S0.28 library: without the preferred and the default device the platform's order decides`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(first, default: second)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                #expect(try await manager.explain().level == "platformOrder")
                box.simulation.removeCard(.earpiece)
                try await box.route(.speakerphone)
                #expect(try await manager.explain().level == "platformOrder")
                _ = try await box.connect(Box.second)
                try await box.route(second)
                #expect(try await manager.explain().level == "default")
            }
        }

        @Test func `S0.29 library: a device without microphone has no input, and an absent device has nothing`()
            async throws
        {
            try await Box.run(
                configure: { $0.localDevices[.speakerphone] = .init(playback: "simulated") },
                body: { box in
                    let speakerphone = try await device(box, .speakerphone)
                    #expect(speakerphone.isAvailable && speakerphone.output == "speaker")
                    #expect(speakerphone.input == nil && !speakerphone.isDuplex)
                    let wired = try await device(box, .wiredHeadset)
                    #expect(!wired.isAvailable && wired.unavailableBecause == "not configured")
                    #expect(wired.output == nil && wired.input == nil && !wired.isDuplex)
                    let headset = try await device(box, first)
                    #expect(!headset.isAvailable && headset.output == nil && headset.input == nil)
                    #expect(headset.address == "\(Box.first)" && headset.mode == nil && headset.battery == nil)
                })
        }

        @Test func `S0.30 library: a device reports all its capabilities`() async throws {
            try await Box.run { box in
                let ears = try await box.connect(Box.first, codecs: [.cvsd, .mSBC])
                ears.headset.setSpeakerVolume(9)
                ears.headset.setMicrophoneVolume(4)
                try await eventually("the volumes are known") {
                    try await device(box, first).microphoneVolume == 4
                }
                let sco = "Optional(\"sco:\(Box.first)\")"
                #expect(
                    snapshot(try await device(box, first)) == [
                        "choice: \(first)", "kind: bluetooth", "address: Optional(\"\(Box.first)\")", "name: headset 1",
                        "isAvailable: true", "unavailableBecause: nil", "output: \(sco)", "input: \(sco)",
                        "battery: Optional(70)", "speakerVolume: Optional(9)", "microphoneVolume: Optional(4)",
                        "isMicrophoneMuted: Optional(false)", "powerSource: nil", "isSafetyEnhanced: nil",
                        "codecs: [\"mSBC\", \"CVSD\"]", "codecReason: nil", "category: Optional(\"headset\")",
                        "state: available", "mode: Optional(\"hfp\")", "isDuplex: true", "rates: [16000, 8000]",
                        "hasInbandRing: true", "speakerVolumeMax: Optional(15)", "microphoneVolumeMax: Optional(15)",
                        "mediaState: nil", "mediaCodec: nil", "mediaVolume: nil", "reconnect: nil",
                    ])
                #expect(
                    snapshot(try await device(box, .earpiece)) == [
                        "choice: earpiece", "kind: earpiece", "address: nil", "name: earpiece", "isAvailable: true",
                        "unavailableBecause: nil", "output: Optional(\"earpiece\")", "input: Optional(\"builtinMic\")",
                        "battery: nil", "speakerVolume: nil", "microphoneVolume: nil", "isMicrophoneMuted: nil",
                        "powerSource: nil", "isSafetyEnhanced: nil", "codecs: []", "codecReason: nil",
                        "category: nil", "state: available", "mode: nil", "isDuplex: true", "rates: [16000]",
                        "hasInbandRing: false", "speakerVolumeMax: nil", "microphoneVolumeMax: nil",
                        "mediaState: nil", "mediaCodec: nil", "mediaVolume: nil", "reconnect: nil",
                    ])
            }
        }

        /// Every property, in the order of its declaration.
        private func snapshot(_ device: BTCall.AudioDevice) -> [String] {
            Mirror(reflecting: device).children.map { "\($0.label ?? ""): \($0.value)" }
        }

        // MARK: Wrong use

        @Test func `A wrong request is refused with the mistake and what is accepted`() async throws {
            try await Box.run { box in
                let (manager, audio, bridge) = (box.bridge.audioDeviceManager, box.bridge.audio, box.bridge)
                typealias Attempt = @ControlPlane () async throws(BridgeError) -> Void
                let attempts: [(BridgeError.Code, [String], Attempt)] = [
                    (
                        .invalidArgument, ["\"headphones\"", "speakerphone, wiredHeadset", "bluetooth:AA:BB"],
                        { () throws(BridgeError) in _ = try Choice(parsing: "headphones") }
                    ),
                    (.unavailable, ["none", "--clear"], { () throws(BridgeError) in try await manager.select(.none) }),
                    (
                        .unavailable, ["bluetooth", "btcall devices"],
                        { () throws(BridgeError) in try await manager.select(.bluetooth) }
                    ),
                    (
                        .invalidArgument, ["16", "0 to 15"],
                        { () throws(BridgeError) in try await manager.setVolume(16, of: .speaker, on: first) }
                    ),
                    (
                        .invalidArgument, ["bluetooth is not one headset", "bluetooth:ADDRESS"],
                        { () throws(BridgeError) in try await manager.setVolume(3, of: .speaker, on: .bluetooth) }
                    ),
                    (
                        .unavailable, ["\(Box.first)", "not connected"],
                        { () throws(BridgeError) in try await manager.setVolume(3, of: .speaker, on: first) }
                    ),
                    (
                        .invalidArgument, ["none", "empty list"],
                        { () throws(BridgeError) in try await manager.setExcludedAudioDevices([.none]) }
                    ),
                    (
                        .invalidArgument, ["1.5", "0.0 to 1.0"],
                        { () throws(BridgeError) in try await audio.setMicVolume(1.5) }
                    ),
                    (
                        .invalidArgument, ["11025", "8000, 16000"],
                        { () throws(BridgeError) in _ = try await audio.openInjection(rate: 11025) }
                    ),
                    (
                        .invalidArgument, ["3", "accepted: 1, 2"],
                        { () throws(BridgeError) in _ = try await audio.openManual(channels: 3) }
                    ),
                    (
                        .invalidArgument, ["11", "0 to 10"],
                        { () throws(BridgeError) in _ = try await audio.play(to: .page, priority: 11) }
                    ),
                    (
                        .invalidArgument, ["audio.periodMilliseconds", "\"4\"", "5 to 40"],
                        { () throws(BridgeError) in try await bridge.setSetting("audio.periodMilliseconds", to: "4") }
                    ),
                    (
                        .invalidArgument, ["routing.exlude", "btcall config"],
                        { () throws(BridgeError) in try await bridge.setSetting("routing.exlude", to: "bluetooth") }
                    ),
                    (
                        .invalidArgument, ["1 to 64"],
                        { () throws(BridgeError) in _ = try await manager.interrupt(source: "") }
                    ),
                ]
                for (code, words, attempt) in attempts {
                    let error = await refusal(attempt)
                    #expect(error?.code == code, "\(words)")
                    for word in words {
                        #expect(error?.message.contains(word) == true, "\(word) in \"\(error?.message ?? "")\"")
                    }
                }
                #expect(box.simulation.opened.isEmpty)
                let selected = try await manager.selectedAudioDevice()
                #expect(selected == .earpiece)
            }
        }
    }
}
