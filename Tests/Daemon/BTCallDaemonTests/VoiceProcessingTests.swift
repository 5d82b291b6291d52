import AudioDSP
import AudioEngine
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BTCallTrials
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import DBus
import HandsFree
import HeadsetControl
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// Voice processing of the microphone through the configuration, the bus and headsets.
    @Suite(.timeLimit(.minutes(1))) @ControlPlane struct VoiceProcessingTests {
        private typealias Stage = BridgeAudio.VoiceStage

        private static func processing(_ kind: VoiceProcessingKind = .preferred) -> (inout Configuration) -> Void {
            { $0.voiceProcessing = kind }
        }

        private static let properties: Set = [
            "voiceProcessing", "voiceProcessingBypassed", "voiceProcessor", "echoCancellation", "noiseSuppression",
            "automaticGain", "highPass",
        ]

        private func names(_ kind: VoiceProcessingKind) -> BridgeAudio.VoiceProcessor? {
            BridgeAudio.VoiceProcessor(rawValue: kind.rawValue)
        }

        @Test func `a processor that is not built in is refused with how to build it`() throws {
            guard !VoiceProcessingKind.webrtc.isAvailable else { return }
            let settings = Settings(base: Configuration(), kept: [:])
            let error = #expect(throws: APIError.self) { try settings.set("audio.voiceProcessing", "webrtc") }
            #expect(error?.message.contains("libwebrtc-audio-processing-dev") == true)
        }

        @Test func `S1.4 S1.5 processing is switched, bypassed and configured during a call, which continues`()
            async throws
        {
            // Both ends send the same tone: an echo to a canceller, noise to a suppressor.
            let configure: (inout Configuration) -> Void = {
                $0.voiceProcessing = .speex
                $0.takesEcho = false
                $0.takesNoise = false
            }
            try await Box.run(configure: configure) { box in
                let audio = box.bridge.audio
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let goesOn: @ControlPlane () async throws -> Void = {
                    _ = box.telephone.exchange.takeRecorded()
                    try await eventually("the far end hears the microphone") {
                        Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                    }
                }
                try await goesOn()
                #expect(try await audio.isVoiceProcessingEnabled())
                #expect(try await audio.voiceProcessor() == .speex)
                for isOn in [false, true] {
                    try await audio.setVoiceProcessingEnabled(isOn)
                    #expect(try await audio.isVoiceProcessingEnabled() == isOn)
                    #expect(try await audio.voiceProcessor() == (isOn ? .speex : .none))
                    try await goesOn()
                }
                try await box.bridge.setSetting("audio.voiceProcessing", to: VoiceProcessingKind.preferred.rawValue)
                #expect(try await audio.voiceProcessor() == names(.preferred))
                try await goesOn()
                for number in 0..<100 { try await audio.setVoiceProcessingBypassed(number % 2 == 0) }
                #expect(try await !audio.isVoiceProcessingBypassed())
                for stage in Stage.allCases {
                    try await audio.setVoiceStage(stage, enabled: false)
                    #expect(try await !audio.isVoiceStageEnabled(stage))
                }
                try await goesOn()
                #expect(box.daemon.settings.configuration.voiceStages == [])
                let losses = box.daemon.graph.engine.counters().terminals.map { $0.playbackXruns + $0.captureXruns }
                #expect(losses.allSatisfy { $0 == 0 })
                try await box.bridge.setSetting("audio.voiceProcessing", to: "none")
                #expect(try await !audio.isVoiceProcessingEnabled())
                let error = await refusal { () throws(BridgeError) in try await audio.setVoiceProcessingEnabled(true) }
                #expect(error?.code == .wrongState)
                #expect(error?.message.contains("audio.voiceProcessing is none") == true)
                try await goesOn()
            }
        }

        @Test func `S1.5 each change is signalled once, no matter who makes it`() async throws {
            try await Box.run(configure: Self.processing(.speex)) { box in
                let events = await box.bridge.events()
                let audio = box.bridge.audio
                try await audio.setVoiceProcessingBypassed(true)
                try await audio.setVoiceProcessingBypassed(true)
                try await audio.setVoiceStage(.noiseSuppression, enabled: false)
                try await box.bridge.setSetting("audio.highPass", to: "no")
                try await audio.setVoiceProcessingEnabled(false)
                try await box.bridge.setSetting("audio.voiceProcessing", to: "none")
                try await audio.setVoiceStage(.noiseSuppression, enabled: true)
                var told: [String] = []
                for await event in events {
                    guard case .settingChanged(let name, let value) = event, Self.properties.contains(name) else {
                        continue
                    }
                    told.append("\(name) \(value ?? "")")
                    if told.last == "noiseSuppression true" { break }
                }
                #expect(
                    told.sorted() == [
                        "highPass false", "noiseSuppression false", "noiseSuppression true", "voiceProcessing false",
                        "voiceProcessing false", "voiceProcessingBypassed true", "voiceProcessor none",
                        "voiceProcessor none",
                    ])
            }
        }

        @Test func `S1.13 speaking while muted is signalled, and the far end hears nothing`() async throws {
            try await Box.run(
                prepare: { box in
                    box.simulation.addCard(.speakerphone) { Speech.samples(rate: $0, seconds: 5) }
                },
                body: { box in
                    let events = await box.bridge.events()
                    let registration = try await box.register()
                    _ = try await box.startCall(registration)
                    try await eventually("the far end hears the microphone") {
                        Tone.isHeard(in: box.telephone.exchange.takeRecorded())
                    }
                    try await box.bridge.calls.setMuted(true)
                    for await event in events where event == .speakingWhileMuted { break }
                    #expect(box.telephone.exchange.takeRecorded().suffix(1600).allSatisfy { $0 == 0 })
                })
        }

        // MARK: Headsets

        @Test func `S1.3 AT+NREC=0 keeps the headset's own processing for the connection, and AT+NREC=1 is refused`()
            async throws
        {
            try await Box.run(configure: Self.processing()) { box in
                func isOwn(_ wanted: Bool) async throws {
                    try await eventually("its own processing is \(wanted ? "left alone" : "not known")") {
                        box.daemon.graph.ownVoices.contains(Box.first) == wanted
                    }
                }
                var headset = try await box.establishedHeadset()
                try await isOwn(false)
                headset.forget()
                headset.say("AT+NREC=0")
                try await headset.hear("OK")
                try await isOwn(true)
                headset.forget()
                headset.say("AT+NREC=1")
                try await headset.hear("ERROR")
                try await isOwn(true)
                headset.close()
                box.bluez.disconnect(Box.first)
                try await isOwn(false)
                try await eventually("it is gone") { box.daemon.headsets.description(of: Box.first) == nil }
                headset = try await box.establishedHeadset()
                try await isOwn(false)
                headset.close()
            }
        }

        @Test func `S1.3 without processing AT+NREC is refused`() async throws {
            try await Box.run(configure: Self.processing(.none)) { box in
                let headset = try await box.establishedHeadset()
                headset.forget()
                headset.say("AT+NREC=0")
                try await headset.hear("ERROR")
                #expect(!box.daemon.graph.ownVoices.contains(Box.first))
                // The service record agrees: processing that is switched on later is announced to headsets after a restart.
                try await box.bridge.setSetting("audio.voiceProcessing", to: "speex")
                #expect(!box.daemon.headsets.configuration.features.contains(.echoCancelling))
                headset.close()
            }
        }
    }
}
