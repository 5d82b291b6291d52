import AudioEngine
import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BluetoothTypes
import CallExchange
import ControlLoop
import TestSupport
import Testing

extension DaemonTests {
    /// Blocks of audio that an application adds through the library's mixer.
    @Suite @ControlPlane struct LibraryMixerTests {
        /// A tenth of a second.
        private static let block = AppAudioBuffer(samples: [Int16](repeating: 8_000, count: 1_600))

        private func call(_ box: Box) async throws {
            let registration = try await box.register()
            _ = try await box.startCall(registration)
            try await hearsMicrophone(box)
        }

        private func hearsMicrophone(_ box: Box) async throws {
            try await eventually("the far end hears the microphone") {
                Tone.isHeard(in: box.telephone.exchange.takeRecorded())
            }
        }

        @Test func `library: captured audio is heard, and capturing takes as long as the audio`() async throws {
            try await Box.run { box in
                try await call(box)
                try await box.bridge.audio.setMicrophoneVolume(0)
                let mixer = box.bridge.audio.mixer
                let start = ControlLoop.now
                let capturing = Task {
                    for _ in 0..<15 { try await mixer.capture(appAudio: Self.block) }
                }
                try await hears(box, 8_000)
                try await capturing.value
                // 1.5 s, of which the socket holds up to 0.13 s.
                #expect(start.duration(to: ControlLoop.now) > .milliseconds(1_200))
                // Another format gets its own socket; -1…1.
                let other = AppAudioBuffer(samples: [Float](repeating: 0.25, count: 9_600), rate: 48_000, channels: 2)
                let second = Task { for _ in 0..<10 { try await mixer.capture(appAudio: other) } }
                try await hears(box, 8_192)
                try await second.value
                await mixer.stop()
                try await hears(box, 0)
            }
        }

        @Test func `S1.29 library: audio that replaces the microphone is heard alone, without muting anything`()
            async throws
        {
            try await Box.run { box in
                try await call(box)
                let mixer = box.bridge.audio.mixer
                let capturing = Task {
                    while true {
                        try await mixer.capture(appAudio: Self.block, replacingMicrophone: true)
                    }
                }
                try await hears(box, 8_000)
                #expect(try await !box.bridge.calls.isMuted())
                #expect(try await box.bridge.audio.muteMode() == .voiceProcessing)
                #expect(try await box.bridge.audio.isMicrophoneInUse())
                // Muting silences it as well, and the microphone does not come back with unmuting.
                try await box.bridge.calls.setMuted(true)
                try await hears(box, 0)
                try await box.bridge.calls.setMuted(false)
                try await hears(box, 8_000)
                capturing.cancel()
                await #expect(throws: BridgeError.self) { try await capturing.value }
                // The microphone stays away while the application says nothing.
                try await hears(box, 0)
                await mixer.stop()
                try await hearsMicrophone(box)
                // A program that dies gives the microphone back.
                let other = try await CallBridge(bus: .address("\(box.address)"))
                try await other.audio.mixer.capture(appAudio: Self.block, replacingMicrophone: true)
                try await hears(box, 0)
                await other.close()
                try await hearsMicrophone(box)
            }
        }

        /// The sample of docs/applications/Audio.md.
        private func send(_ blocks: [[Int16]], _ bridge: CallBridge) async throws(BridgeError) {
            let mixer = bridge.audio.mixer
            for block in blocks {
                try await mixer.capture(appAudio: AppAudioBuffer(samples: block), replacingMicrophone: true)
            }
            await mixer.stop()
        }

        @Test func `S1.29 library: a program sends its blocks as the page shows it`() async throws {
            try await Box.run { box in
                try await call(box)
                let bridge = box.bridge
                let sending = Task { @ControlPlane in
                    try await send(Array(repeating: [Int16](repeating: 8_000, count: 1_600), count: 8), bridge)
                }
                try await hears(box, 8_000)
                try await sending.value
                try await hearsMicrophone(box)
            }
        }

        @Test func `S1.28 library: captured audio is the uplink in manual rendering`() async throws {
            try await Box.run { box in
                try await call(box)
                let manual = try await box.bridge.audio.openManual()
                try await box.route(.none)
                let mixer = box.bridge.audio.mixer
                let capturing = Task {
                    while true { try await mixer.capture(appAudio: Self.block) }
                }
                try await hears(box, 8_000)
                #expect(box.daemon.graph.isQuiet)
                capturing.cancel()
                await #expect(throws: BridgeError.self) { try await capturing.value }
                try await hears(box, 0)
                withExtendedLifetime(manual) {}
            }
        }

        @Test func `library: captured audio waits for a call, and continues after a restart of the daemon`()
            async throws
        {
            try await Box.run { box in
                let mixer = box.bridge.audio.mixer
                let capturing = Task {
                    // More than the socket holds.
                    for _ in 0..<10 { try await mixer.capture(appAudio: Self.block) }
                }
                try await eventually("the socket is open") {
                    !box.daemon.graph.engine.counters().injections.isEmpty
                }
                // Long enough that the library asks a bus without btcalld.
                try await box.restartDaemon(after: .milliseconds(300))
                // The rest lasts less than a second: nothing else takes the audio first. The registration is kept, for
                // AudioReady comes only now.
                box.registrations.append(try await box.register())
                _ = try await box.startCall(box.registrations[0])
                try await eventually("the rest is heard") {
                    box.telephone.exchange.takeRecorded().contains { $0 > 7_000 }
                }
                try await capturing.value
            }
        }

        @Test func `library: a wrong block is refused with what is accepted, and stopping drops what waits`()
            async throws
        {
            try await Box.run { box in
                let mixer = box.bridge.audio.mixer
                let wrong = [
                    (AppAudioBuffer(samples: [Int16](repeating: 0, count: 3), channels: 2), "half a frame"),
                    (AppAudioBuffer(samples: [Int16](repeating: 0, count: 4), channels: 0), "1 or 2 channels"),
                    (AppAudioBuffer(samples: [Float](repeating: 0, count: 441), rate: 11_025), "accepted: 8000"),
                ]
                for (buffer, text) in wrong {
                    let error = await refusal { () throws(BridgeError) in try await mixer.capture(appAudio: buffer) }
                    #expect(error?.code == .invalidArgument && error?.message.contains(text) == true, "\(text)")
                }
                // More than the socket holds, and nobody hears it.
                let long = AppAudioBuffer(samples: [Int16](repeating: 8_000, count: 32_000))
                let waiting = Task { try await mixer.capture(appAudio: long) }
                try await eventually("the socket is open") {
                    !box.daemon.graph.engine.counters().injections.isEmpty
                }
                await mixer.stop()
                try await waiting.value
                try await eventually("nothing is left") { box.daemon.graph.engine.counters().injections.isEmpty }
            }
        }
    }
}
