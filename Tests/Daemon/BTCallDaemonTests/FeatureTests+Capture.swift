import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import CallExchange
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import TestSupport
import Testing

/// Capture, mute and microphone access, one test for each row.
extension DaemonTests {
    @Suite @ControlPlane struct CaptureTests {
        let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// Runs a daemon whose local devices are streams of alsa-lib, with the loudspeaker as the default.
        private func run(
            board: SimulatedBoard? = nil, configure: @escaping (inout Configuration) -> Void = { _ in },
            body: (Box, PacedBoard) async throws -> Void
        ) async throws {
            let cards = PacedBoard()
            try await Box.run(
                board: board, configure: configure, environment: { $0.paths = cards },
                body: { box in
                    try await box.prefer(.none, default: .speakerphone)
                    try await body(box, cards)
                })
        }

        private func call(_ box: Box, on route: Choice = .speakerphone) async throws -> (ProviderRegistration, Call.ID)
        {
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await box.route(route)
            return (registration, call)
        }

        private func end(_ call: (ProviderRegistration, Call.ID), _ box: Box, _ cards: PacedBoard) async throws {
            try await call.0.update(call.1, .ended)
            try await call.0.unregister()
            try await eventually("the loudspeaker is closed") { cards.openSpeakers == 0 }
        }

        @Test func `S1.14 muting by restart closes the microphone alone, and unmuting opens it again`() async throws {
            try await run { box, cards in
                let log = try await SignalLog(box.address)
                defer { log.close() }
                try await box.bridge.audio.setMuteMode(.restart)
                _ = try await call(box)
                try await hears(box, PacedBoard.sample)
                for round in 1...2 {
                    try await box.bridge.calls.setMuted(true)
                    try await hears(box, 0)
                    try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                    let played = cards.speakers[0].frames
                    try await eventually("the loudspeaker keeps playing") { cards.speakers[0].frames > played + 24_000 }
                    try await box.bridge.calls.setMuted(false)
                    try await hears(box, PacedBoard.sample)
                    #expect(cards.microphones.count == 1 + round && cards.openMicrophones == 1)
                }
                #expect(log.changes.map(\.new) == ["speakerphone"])
                // A stalled machine causes one underrun of the loudspeaker, which restarts it.
                #expect(cards.speakers.count == 1 && cards.speakers[0].xruns <= 1)
                #expect(cards.speakers[0].starts == 1 + cards.speakers[0].xruns)
            }
        }

        @Test func `S1.14 muting by restart sends a headset silence, and keeps its link`() async throws {
            try await run { box, cards in
                try await box.bridge.audio.setMuteMode(.restart)
                try await box.prefer(.bluetooth, default: .speakerphone)
                _ = try await box.connect(Box.first)
                _ = try await call(box, on: first)
                try await eventually("the far end hears the headset") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                try await box.bridge.calls.setMuted(true)
                try await hears(box, 0)
                try await box.playing("headset 1")
                try await box.bridge.calls.setMuted(false)
                try await eventually("the far end hears it again") {
                    Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                }
                #expect(box.simulation.opened == ["headset 1"])
                #expect(try await box.bridge.status().route == first)
            }
        }

        @Test func `When unmuting cannot open the microphone the calls stay muted, with the reason`() async throws {
            try await run { box, cards in
                try await box.bridge.audio.setMuteMode(.restart)
                _ = try await call(box)
                try await hears(box, PacedBoard.sample)
                try await box.bridge.calls.setMuted(true)
                try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                cards.isBusy = true
                try await box.bridge.calls.setMuted(false)
                try await eventually("the calls are muted again") { try await box.bridge.calls.isMuted() }
                #expect(try await box.problem("microphone").what.contains("paced is in use"))
                cards.isBusy = false
                try await box.bridge.calls.setMuted(false)
                try await hears(box, PacedBoard.sample)
                try await box.noProblem("microphone")
            }
        }

        @Test func `S1.6 S1.8 S1.10 S1.12 the prepared microphone is opened once and stays open over calls and stops`()
            async throws
        {
            try await run { box, cards in
                _ = try await box.connect(Box.first)
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                #expect(cards.opened == ["speakerphone capture"] && box.simulation.opened.isEmpty)
                for _ in 1...2 {
                    let call = try await call(box)
                    try await hears(box, PacedBoard.sample)
                    try await box.bridge.calls.setMuted(true)
                    try await hears(box, 0)
                    try await box.bridge.calls.setMuted(false)
                    try await hears(box, PacedBoard.sample)
                    try await end(call, box, cards)
                    try await box.bridge.audioDeviceManager.stop()
                    try await box.bridge.audioDeviceManager.start()
                }
                let frames = cards.microphones[0].frames
                try await eventually("it keeps running") { cards.microphones[0].frames > frames }
                #expect(cards.microphones.count == 1 && cards.wasStartedOnce)
                #expect(box.simulation.opened.isEmpty)
                #expect(try await box.bridge.audio.isRecordingAlwaysPrepared())
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(false)
                try await eventually("it is closed") { cards.openMicrophones == 0 }
                #expect(try await box.bridge.audio.isPrepared() == false)
            }
        }

        @Test func `S1.6 prepared and muted by restart, the microphone stays open and the far end hears silence`()
            async throws
        {
            let configure: (inout Configuration) -> Void = { $0.alwaysPrepared = true }
            try await run(configure: configure) { box, cards in
                try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                try await box.bridge.audio.setMuteMode(.restart)
                _ = try await call(box)
                try await hears(box, PacedBoard.sample)
                try await box.bridge.calls.setMuted(true)
                try await hears(box, 0)
                #expect(cards.openMicrophones == 1 && cards.microphones[0].isRunning)
                try await eventually("nobody hears it") { try await !box.bridge.audio.isMicrophoneInUse() }
                try await box.bridge.calls.setMuted(false)
                try await hears(box, PacedBoard.sample)
                #expect(cards.microphones.count == 1 && cards.wasStartedOnce)
                // When switched off during the call it is closed at the call's end.
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(false)
                try await hears(box, PacedBoard.sample)
                #expect(cards.microphones.count == 1)
            }
        }

        @Test func `S1.11 Prepared becomes true once samples arrive after RecordingAlwaysPrepared is set`() async throws
        {
            try await run { box, cards in
                var heard: [String] = []
                var framesWhenPrepared = 0
                let subscription = box.client.subscribe(
                    sender: BTCallName.bus, path: BTCallPath.audio, member: "PropertiesChanged"
                ) { signal in
                    for (name, value) in signal.arguments[1].vardictValue ?? [:] {
                        heard.append("\(name) \(value.boolValue.map { "\($0)" } ?? "")")
                        if name == BTCallName.Audio.prepared { framesWhenPrepared = cards.microphones[0].frames }
                    }
                }
                defer { subscription.cancel() }
                _ = try await box.client.owner(of: BTCallName.bus)
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                try await eventually("it is reported") { heard.contains("Prepared true") }
                #expect(framesWhenPrepared > 0)
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(false)
                try await eventually("its end is signalled") { heard.contains("Prepared false") }
                #expect(
                    heard == [
                        "RecordingAlwaysPrepared true", "Prepared true", "RecordingAlwaysPrepared false",
                        "Prepared false",
                    ])
            }
        }

        @Test func `S1.7 S1.27 the privacy output is on while a microphone is in use, and stays on in mode inputMixer`()
            async throws
        {
            let light = try FakeLight()
            let configure: (inout Configuration) -> Void = {
                $0.privacyOutput = light.specification
                $0.alwaysPrepared = true
            }
            try await run(configure: configure) { box, cards in
                func shows(_ state: BridgeAudio.PrivacyOutput, _ brightness: String) async throws {
                    try await eventually("the output is \(state)") {
                        try await box.bridge.audio.privacyOutput() == state
                    }
                    #expect(try light.read("brightness") == brightness)
                }
                #expect(try light.read("trigger") == "none")
                try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                try await shows(.off, "0")
                let call = try await call(box)
                try await shows(.on, "255")
                for mode in BridgeAudio.MuteMode.allCases {
                    try await box.bridge.audio.setMuteMode(mode)
                    try await box.bridge.calls.setMuted(true)
                    try await hears(box, 0)
                    try await shows(mode == .inputMixer ? .on : .off, mode == .inputMixer ? "255" : "0")
                    #expect(cards.openMicrophones == 1)
                    try await box.bridge.calls.setMuted(false)
                    try await shows(.on, "255")
                }
                try await box.bridge.audio.setMicrophoneVolume(0)
                try await shows(.off, "0")
                try await box.bridge.audio.setMicrophoneVolume(1)
                try await shows(.on, "255")
                try await end(call, box, cards)
                try await shows(.off, "0")
                _ = try await self.call(box)
                try await shows(.on, "255")
            }
            // The daemon has ended during a call.
            #expect(try light.read("brightness") == "0")
        }

        @Test func `S1.7 a missing privacy output is a problem that lists the existing ones`() async throws {
            let light = try FakeLight()
            let configure: (inout Configuration) -> Void = {
                $0.privacyOutput = PrivacyOutputSpecification(light.folder.path() + "-not")
            }
            try await run(configure: configure) { box, _ in
                #expect(try await box.bridge.audio.privacyOutput() == .failed)
                let problem = try await box.problem("privacy")
                #expect(problem.what.contains(light.folder.path() + "-not"))
                #expect(
                    problem.remedy.contains(light.folder.lastPathComponent)
                        || problem.remedy.contains("and others"))
            }
        }

        @Test func `S1.1 without automatic configuration a call leaves the mixer unchanged`() async throws {
            for isAutomatic in [false, true] {
                let mixer = SimulatedBoard()
                mixer.addVolume("Speaker", 20)
                let configure: (inout Configuration) -> Void = {
                    $0.autoConfigure = isAutomatic
                    $0.localDevices[.speakerphone]?.mixer = "Speaker"
                    $0.localDevices[.speakerphone]?.volume = 90
                }
                try await run(board: mixer, configure: configure) { box, cards in
                    #expect(try await box.bridge.audio.isAutomaticConfigurationEnabled() == isAutomatic)
                    let volume = try #require(mixer.volumes["Speaker"])
                    let before = volume.setting
                    let call = try await call(box)
                    try await hears(box, PacedBoard.sample)
                    #expect((volume.writes > 0) == isAutomatic)
                    try await box.bridge.calls.setMuted(true)
                    try await box.bridge.calls.setMuted(false)
                    try await end(call, box, cards)
                    #expect((volume.setting == before) == !isAutomatic)
                    #expect(isAutomatic || volume.writes == 0 && volume.opened == 0)
                }
            }
        }

        @Test func `S1.16 without automatic configuration unmuting without an input is NotConfigured, not silence`()
            async throws
        {
            for isAutomatic in [false, true] {
                let configure: (inout Configuration) -> Void = {
                    $0.autoConfigure = isAutomatic
                    $0.localDevices[.speakerphone]?.capture = nil
                }
                try await run(configure: configure) { box, cards in
                    cards.deaf = [.speakerphone]
                    _ = try await call(box)
                    try await box.bridge.calls.setMuted(true)
                    let error = await refusal { () throws(BridgeError) in try await box.bridge.calls.setMuted(false) }
                    #expect(error?.code == (isAutomatic ? nil : .notConfigured))
                    #expect(isAutomatic || error?.message.contains("[device speakerphone]") == true)
                    #expect(try await box.bridge.calls.isMuted() == !isAutomatic)
                    #expect(
                        await box.error(
                            BTCallPath.calls, "org.freedesktop.DBus.Properties", "Set",
                            [.string(BTCallName.Interface.calls), "Muted", .variant(.bool(false))])
                            == (isAutomatic ? nil : "org.btcall.Error.NotConfigured"))
                }
            }
        }

        @Test func `S1.9 a denied microphone stays silent, its clients get AccessDenied, and calls only receive`()
            async throws
        {
            let configure: (inout Configuration) -> Void = { $0.microphone = .deny }
            try await run(configure: configure) { box, cards in
                let audio = box.bridge.audio
                #expect(try await audio.microphoneAccess() == .denied)
                _ = try await call(box)
                try await hears(box, 0)
                let speaker = try #require(cards.speakers.first)
                try await eventually("the far end is heard") {
                    Tone.isHeard(in: speaker.played.suffix(9_600))
                }
                #expect(cards.microphones.isEmpty)
                for member in ["RecordingAlwaysPrepared", "Muted"] {
                    let isCalls = member == "Muted"
                    let interface = isCalls ? BTCallName.Interface.calls : BTCallName.Interface.audio
                    #expect(
                        await box.error(
                            isCalls ? BTCallPath.calls : BTCallPath.audio, "org.freedesktop.DBus.Properties", "Set",
                            [.string(interface), .string(member), .variant(.bool(!isCalls))])
                            == "org.btcall.Error.AccessDenied")
                }
                var error = await refusal { () throws(BridgeError) in try await audio.allowMicrophone(true) }
                #expect(error?.code == .accessDenied)
                // From here on a client has to allow the microphone.
                try await box.bridge.setSetting("privacy.microphone", to: "ask-client")
                #expect(try await audio.microphoneAccess() == .waiting)
                error = await refusal { () throws(BridgeError) in
                    try await audio.setRecordingAlwaysPreparedMode(true)
                }
                #expect(error?.code == .accessDenied)
                try await hears(box, 0)
                try await audio.allowMicrophone(true)
                #expect(try await audio.microphoneAccess() == .allowed)
                try await hears(box, PacedBoard.sample)
                try await audio.allowMicrophone(false)
                try await hears(box, 0)
                try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                try await box.bridge.setSetting("privacy.microphone", to: "allow")
                try await hears(box, PacedBoard.sample)
                error = await refusal { () throws(BridgeError) in try await audio.allowMicrophone(false) }
                #expect(error?.code == .wrongState)
            }
        }

        @Test func `S1.18 MicrophoneEnabled is the setting of the routing policy, and its changes are signalled`()
            async throws
        {
            try await run { box, cards in
                var heard: [Bool?] = []
                let subscription = box.client.subscribe(
                    sender: BTCallName.bus, path: BTCallPath.audio, member: "PropertiesChanged"
                ) { signal in
                    guard let value = signal.arguments[1].vardictValue?["MicrophoneEnabled"] else { return }
                    heard.append(value.boolValue)
                }
                defer { subscription.cancel() }
                _ = try await box.client.owner(of: BTCallName.bus)
                _ = try await call(box)
                try await hears(box, PacedBoard.sample)
                try await box.bridge.audio.setMicrophone(enabled: false)
                #expect(box.daemon.settings.configuration.routing.microphoneEnabled == false)
                #expect(box.daemon.router.policy.input == .none)
                try await hears(box, 0)
                try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                try await box.bridge.setSetting("routing.microphoneEnabled", to: "true")
                #expect(try await box.bridge.audio.isMicrophoneEnabled())
                try await hears(box, PacedBoard.sample)
                #expect(heard == [false, true])
            }
        }

        @Test func `Mute mode and volumes survive a restart of the daemon`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-state-\(UUID())")
            defer { try? FileManager.default.removeItem(at: folder) }
            let configure: (inout Configuration) -> Void = { $0.stateDirectory = folder.path() }
            try await run(configure: configure) { box, _ in
                try await box.bridge.audio.setMuteMode(.inputMixer)
                try await box.bridge.audio.setMicrophoneVolume(0.25)
                try await box.bridge.audio.setApplicationVolume(0.5)
                try await box.restartDaemon()
                #expect(try await box.bridge.audio.muteMode() == .inputMixer)
                #expect(try await box.bridge.audio.microphoneVolume() == 0.25)
                #expect(try await box.bridge.audio.applicationVolume() == 0.5)
            }
        }
    }
}
