import AudioDSP
import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CBTCall
import CallExchange
import Configuration
import ControlLoop
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The audio of calls through the Swift library, for the rows without another test through it.
    @Suite @ControlPlane struct LibraryAudioTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// A call on the earpiece.
        private func call(_ box: Box) async throws -> ProviderRegistration {
            try await box.prefer(.none)
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await box.route(.earpiece)
            return registration
        }

        @Test func `S1.3 S3.3 library: processing is on by default, with every stage, and names its processor`()
            async throws
        {
            let configure: (inout Configuration) -> Void = { $0.voiceProcessing = Configuration().voiceProcessing }
            try await Box.run(configure: configure) { box in
                let audio = box.bridge.audioManager
                #expect(try await audio.voiceProcessingEnabled)
                #expect(try await !audio.isVoiceProcessingBypassed())
                #expect(try await audio.voiceProcessor().rawValue == VoiceProcessingKind.preferred.rawValue)
                for stage in AudioManager.VoiceStage.allCases {
                    #expect(try await audio.isVoiceStageEnabled(stage), "\(stage)")
                }
                try await audio.setVoiceProcessingEnabled(false)
                #expect(try await !audio.voiceProcessingEnabled)
                #expect(try await audio.voiceProcessor() == .none)
            }
        }

        @Test
        func `S1.18 S3.2 S3.8 S3.9 S3.10 library: the microphone and A2DP decide how a headset is used`() async throws {
            try await Box.run { box in
                let audio = box.bridge.audioManager
                _ = try await box.connect(Box.first)
                // The policy gets the events of A2DP links directly.
                box.daemon.router.handle(.headsetProfile(Box.first, .hfp, isUp: true))
                box.daemon.router.handle(.headsetProfile(Box.first, .a2dp, isUp: true))
                @ControlPlane func isUsed(_ mode: String, output: String, input: String?) async throws {
                    let devices = try await box.bridge.audioDeviceManager.audioDevices()
                    let headset = try #require(devices.first { $0.choice == first })
                    #expect(headset.mode == mode && headset.input == input)
                    let end = "\(output):\(Box.first)"
                    #expect(headset.output == end)
                }
                let sco = "sco:\(Box.first)"
                #expect(try await audio.microphoneEnabled)
                #expect(try await !audio.allowBluetoothA2DP)
                try await isUsed("hfp", output: "sco", input: sco)
                try await audio.setMicrophone(enabled: false)
                #expect(try await !audio.microphoneEnabled)
                try await isUsed("a2dp", output: "a2dp", input: nil)
                try await audio.setMicrophone(enabled: true)
                try await isUsed("hfp", output: "sco", input: sco)
                try await audio.setAllowBluetoothA2DP(true)
                #expect(try await audio.allowBluetoothA2DP)
                try await isUsed("a2dp", output: "a2dp", input: "builtinMic")
                try await audio.setAllowBluetoothA2DP(false)
                try await isUsed("hfp", output: "sco", input: sco)
            }
        }

        @Test func `S1.19 library: in manual rendering mode a call has no device, and gets it back afterwards`()
            async throws
        {
            try await Box.run { box in
                let audio = box.bridge.audioManager
                _ = try await call(box)
                #expect(try await !audio.isManualRenderingMode)
                try await audio.setManualRenderingMode(true)
                #expect(try await audio.isManualRenderingMode)
                try await box.route(.none)
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                let opened = box.simulation.opened
                try await audio.setMicrophone(enabled: false)
                try await audio.setMicrophone(enabled: true)
                try await box.bridge.audioDeviceManager.setAudioDevice(.speakerphone)
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
                #expect(box.simulation.opened == opened && box.daemon.graph.isQuiet)
                try await audio.setManualRenderingMode(false)
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
            }
        }

        @Test
        func `S1.21 library: the far end hears silence while a program writes nothing, and audio when it writes again`()
            async throws
        {
            try await Box.run { box in
                _ = try await call(box)
                let manual = try await box.bridge.audioManager.openManual()
                let (uplink, downlink) = (manual.uplink.takeDescriptor(), manual.downlink.takeDescriptor())
                defer {
                    close(uplink)
                    close(downlink)
                }
                // The call's audio is read, or it would count as lost.
                let reading = try ControlLoop.shared.add(downlink, .readable) { _ in
                    var block = [Int16](repeating: 0, count: 160)
                    while recv(downlink, &block, 320, Int32(MSG_DONTWAIT)) == 320 {}
                }
                defer { reading.cancel() }
                for _ in 1...2 {
                    let writing = try ControlLoop.shared.add(uplink, .writable) { _ in
                        let block = [Int16](repeating: 6_000, count: 160)
                        send(uplink, block, 320, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                    }
                    try await hears(box, 6_000)
                    writing.cancel()
                    try await hears(box, 0)
                }
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                #expect(box.daemon.graph.isQuiet)
            }
        }

        @Test func `S1.22 library: the downlink has the far end's own samples, and no device plays them`() async throws
        {
            try await Box.run { box in
                _ = try await call(box)
                let renderer = Renderer(try await box.bridge.audioManager.openManual())
                try await box.route(.none)
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                let played = box.simulation.played("earpiece").map(\.samples.count)
                try renderer.start()
                let tone = Tone.samples(16_000)
                try await eventually("a complete round of the far end's samples arrives unchanged") {
                    let heard = renderer.heard
                    return heard.indices.dropLast(tone.count).contains { start in
                        tone.indices.allSatisfy { heard[start + $0] == tone[$0] }
                    }
                }
                #expect(box.simulation.played("earpiece").map(\.samples.count) == played)
                renderer.end()
            }
        }

        @Test
        func `S1.24 library: volumes of the microphone go from digital silence to unity, each louder than the last`()
            async throws
        {
            let cards = PacedBoard()
            try await Box.run(
                environment: { $0.paths = cards },
                body: { box in
                    let audio = box.bridge.audioManager
                    _ = try await call(box)
                    try await hears(box, PacedBoard.sample)
                    for (volume, sample) in [(0.0, 0), (0.25, 2_000), (0.5, 4_000), (1.0, 8_000)] as [(Double, Int16)] {
                        try await audio.setMicVolume(volume)
                        #expect(try await audio.micVolume == volume)
                        try await hears(box, sample)
                    }
                    try await audio.setMicVolume(0)
                    try await hears(box, 0)
                    _ = box.telephone.exchange.takeRecorded()
                    let blocks = box.telephone.exchange.counters.blocksReceived
                    try await eventually("a quarter of a second has come") {
                        box.telephone.exchange.counters.blocksReceived >= blocks + 25
                    }
                    #expect(box.telephone.exchange.takeRecorded().allSatisfy { $0 == 0 })
                    let added = try await audio.openInjection(isStream: true)
                    let descriptor = added.takeDescriptor()
                    defer { close(descriptor) }
                    let writing = try ControlLoop.shared.add(descriptor, .writable) { _ in
                        let samples = [Int16](repeating: 8_000, count: 160)
                        send(descriptor, samples, 320, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
                    }
                    defer { writing.cancel() }
                    for (volume, sample) in [(0.25, 2_000), (0.5, 4_000), (1.0, 8_000), (0.0, 0)] as [(Double, Int16)] {
                        try await audio.setAppVolume(volume)
                        #expect(try await audio.appVolume == volume)
                        try await hears(box, sample)
                    }
                })
        }

        @Test func `S1.25 library: each bridge has its own audio manager`() async throws {
            try await Box.run { box in
                #expect(box.bridge.audioManager === box.bridge.audio)
                let other = try await CallBridge(bus: .address("\(box.address)"))
                #expect(other.audioManager !== box.bridge.audioManager)
                try await other.audioManager.setMicVolume(0.25)
                #expect(try await box.bridge.audioManager.micVolume == 0.25)
                await other.close()
            }
        }

        @Test func `S3.5 library: cards are opened exclusively unless mixWithOthers is set`() async throws {
            try await Box.run(through: MixingPaths.init) { box, paths in
                let audio = box.bridge.audioManager
                #expect(try await !audio.mixWithOthers)
                try await box.prefer(.none)
                let registration = try await box.register()
                for isMixable in [false, true, false] {
                    try await audio.setMixWithOthers(isMixable)
                    #expect(try await audio.mixWithOthers == isMixable)
                    let call = try await box.startCall(registration)
                    try await box.playing("earpiece")
                    try await registration.update(call, .ended)
                    try await eventually("the card is closed") { box.daemon.graph.isQuiet }
                }
                #expect(paths.opened == [false, true, false])
            }
        }
    }
}
