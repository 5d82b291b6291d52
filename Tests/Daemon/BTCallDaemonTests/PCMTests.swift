import AudioEngine
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CBTCall
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import TestSupport
import Testing

/// 500 Hz, as in `Tone`.
private func tone(_ rate: Int) -> @Sendable (Int) -> Int16 {
    let samples = Tone.samples(rate)
    return { samples[$0 % samples.count] }
}

extension DaemonTests {
    /// Programs on the ALSA PCM, and their calls.
    @Suite @ControlPlane struct PCMTests {
        static func makePath() -> String {
            FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).sock").path()
        }

        func run(
            configure: (inout Configuration) -> Void = { _ in }, _ body: (Box, String) async throws -> Void
        ) async throws {
            let path = Self.makePath()
            try await Box.run(
                configure: {
                    $0.pcmSocket = path
                    configure(&$0)
                }, body: { try await body($0, path) })
        }

        /// A client whose stream has been accepted.
        func open(
            _ path: String, _ role: btcall_pcm_role = BTCALL_PCM_CALL, isCapture: Bool = false, rate: UInt32 = 16_000,
            buffer: Duration = .milliseconds(100)
        ) async throws -> (client: PCMClient, ring: PCMRing) {
            let hello = PCMClient.hello(
                role, isCapture: isCapture, rate: rate, bufferFrames: rate * UInt32(buffer / .milliseconds(1)) / 1000)
            let client = try PCMClient(path, hello)
            try await eventually("the client is answered") { client.isAnswered() }
            #expect(client.answer?.error == 0)
            return (client, try #require(client.ring))
        }

        /// A client that plays and one that records.
        private func openPair(_ path: String) async throws -> [(client: PCMClient, ring: PCMRing)] {
            let player = try await open(path, rate: 48_000)
            player.ring.play(tone(48_000))
            player.client.send(BTCALL_PCM_START)
            let recorder = try await open(path, isCapture: true)
            recorder.ring.record()
            recorder.client.send(BTCALL_PCM_START)
            return [player, recorder]
        }

        private func hears(_ ring: PCMRing, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            let before = ring.recorded.count
            try await eventually("the microphone is recorded", sourceLocation: sourceLocation) {
                Tone.isHeard(in: ring.recorded.dropFirst(before))
            }
        }

        private func noCall(_ box: Box, sourceLocation: SourceLocation = #_sourceLocation) async throws {
            try await eventually("the call has ended", sourceLocation: sourceLocation) {
                try await box.bridge.calls.list().isEmpty
            }
        }

        private func call(_ box: Box, sourceLocation: SourceLocation = #_sourceLocation) async throws -> Call {
            var found: Call?
            try await eventually("there is a call", sourceLocation: sourceLocation) {
                found = try await box.bridge.calls.list().first
                return found?.state == .active
            }
            return try #require(found)
        }

        private func setHeld(_ box: Box, _ call: Call.ID, _ isHeld: Bool) async {
            let path = BTCallPath.call(call.description)
            #expect(await box.error(path, BTCallName.Interface.call, "SetHeld", [.bool(isHeld)]) == nil)
        }

        // MARK: Whose call it is

        @Test func `calls of an application with audio="pcm" play, record and are held on the PCM`() async throws {
            try await run { box, path in
                try await box.prefer(.earpiece)
                var description = CallProviderDescription(name: "softphone", capabilities: [.hold])
                description.audio = .pcm
                let registration = try await box.bridge.register(box.telephone, as: description)
                let call = try await registration.reportOutgoing(number: "+4930123456")
                let streams = try await openPair(path)
                try await registration.update(call, .active)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await hears(streams[1].ring)
                #expect(streams.allSatisfy { $0.ring.isEngaged })
                await setHeld(box, call, true)
                try await eventually("the streams pace themselves") { streams.allSatisfy { $0.ring.engagement == 2 } }
                await setHeld(box, call, false)
                try await eventually("the daemon is the clock") { streams.allSatisfy { $0.ring.engagement == 3 } }
                #expect(try await box.bridge.calls.list().map(\.provider) == ["softphone"])
                try await registration.update(call, .ended)
                try await eventually("the streams pace themselves") { streams.allSatisfy { $0.ring.engagement == 4 } }
                #expect(
                    !box.telephone.requests.contains { request in
                        if case .audio = request { true } else { false }
                    })
            }
        }

        @Test func `programs that play and record are a call at headsets, which ends with them`() async throws {
            try await run { box, path in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let streams = try await openPair(path)
                let call = try await call(box)
                #expect(call.provider == "pcm" && call.direction == .outgoing && call.number == nil)
                try await ears.hear(.indicator("call", 1))
                try await box.playing("headset 1")
                try await hears(streams[1].ring)
                #expect(streams.allSatisfy { $0.ring.isEngaged })
                // One direction alone continues.
                streams[0].client.send(BTCALL_PCM_STOP)
                try await eventually("it has stopped") { streams[0].ring.engagement == 2 }
                #expect(streams[1].ring.isEngaged)
                streams[1].client.close()
                try await ears.hear(.indicator("call", 0))
                try await noCall(box)
                let registration = try await box.register()
                #expect(try await registration.reportIncoming(number: "1").description != call.id.description)
            }
        }

        @Test func `the headset's button ends this call until the programs have stopped`() async throws {
            try await run { box, path in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let streams = try await openPair(path)
                let first = try await call(box)
                try await ears.hear(.indicator("call", 1))
                ears.headset.press(.hangUp)
                try await ears.hear(.indicator("call", 0))
                try await eventually("the streams pace themselves") { streams.allSatisfy { !$0.ring.isEngaged } }
                #expect(try await box.bridge.calls.list().isEmpty)
                #expect(!box.log.containing("cannot be notified").isEmpty)
                // When one stops and restarts, the call is the same; when both do, it is a new one.
                streams[0].client.send(BTCALL_PCM_STOP)
                streams[0].client.send(BTCALL_PCM_START)
                try await eventually("both run") { box.daemon.pcm.count(.call) == 1 }
                for stream in streams { stream.client.send(BTCALL_PCM_STOP) }
                try await eventually("neither runs") {
                    box.daemon.pcm.count(.call) + box.daemon.pcm.count(.call, isCapture: true) == 0
                }
                for stream in streams { stream.client.send(BTCALL_PCM_START) }
                #expect(try await call(box).id != first.id)
            }
        }

        @Test func `while a call has a descriptor programs run on their own clock, and become a call after it`()
            async throws
        {
            try await run { box, path in
                try await box.prefer(.earpiece)
                let registration = try await box.register()
                let other = try await box.startCall(registration)
                try await box.playing("earpiece")
                let streams = try await openPair(path)
                try await eventually("both run") {
                    box.daemon.pcm.count(.call) == 1 && box.daemon.pcm.count(.call, isCapture: true) == 1
                }
                // By the other call's blocks, longer than it takes to create a call.
                let blocks = box.daemon.graph.engine.counters().ticks
                try await eventually("300 ms have passed") { box.daemon.graph.engine.counters().ticks > blocks + 30 }
                #expect(try await box.bridge.calls.list().map(\.id) == [other])
                #expect(streams.allSatisfy { $0.ring.engagement == 0 && $0.ring.hardware == 0 })
                try await registration.update(other, .ended)
                try await eventually("the programs have a call") {
                    try await box.bridge.calls.list().map(\.provider) == ["pcm"]
                }
                try await hears(streams[1].ring)
            }
        }

        @Test func `answering another call holds this one, which resumes afterwards`() async throws {
            try await run { box, path in
                try await box.prefer(.earpiece)
                let streams = try await openPair(path)
                let implied = try await call(box)
                try await eventually("the daemon is the clock") { streams.allSatisfy { $0.ring.engagement == 1 } }
                let registration = try await box.register()
                let other = try await registration.reportIncoming(number: "1")
                try await box.bridge.calls.answer(other)
                try await eventually("the streams pace themselves") { streams.allSatisfy { $0.ring.engagement == 2 } }
                let states = try await box.bridge.calls.list()
                #expect(states.first { $0.id == implied.id }?.state == .held)
                try await registration.update(other, .ended)
                await setHeld(box, implied.id, false)
                try await eventually("the daemon is the clock") { streams.allSatisfy { $0.ring.engagement == 3 } }
            }
        }

        @Test func `an application that registers for the PCM takes over the programs' call`() async throws {
            try await run { box, path in
                let streams = try await openPair(path)
                _ = try await call(box)
                try await eventually("the daemon is the clock") { streams.allSatisfy { $0.ring.engagement == 1 } }
                var description = CallProviderDescription(name: "softphone")
                description.audio = .pcm
                let registration = try await box.bridge.register(box.telephone, as: description)
                try await noCall(box)
                let call = try await registration.reportOutgoing(number: "1")
                try await registration.update(call, .active)
                try await eventually("the daemon is the clock") { streams.allSatisfy { $0.ring.engagement == 3 } }
            }
        }

        @Test func `a client of a restarted daemon says hello again, and continues at its position`() async throws {
            try await run { box, path in
                try await box.prefer(.earpiece)
                let before = try await openPair(path)
                _ = try await call(box)
                try await eventually("they have run") { before.allSatisfy { $0.ring.hardware > 1_600 } }
                try await box.restartDaemon()
                try await eventually("the connections are gone") { before.allSatisfy { $0.client.isGone() } }
                #expect(before.allSatisfy { !$0.ring.isEngaged })
                for stream in before { stream.ring.stop() }
                let (player, recorder) = (try await open(path, rate: 48_000), try await open(path, isCapture: true))
                for (new, old) in [(player.ring, before[0].ring), (recorder.ring, before[1].ring)] {
                    btcall_pcm_advance(new.header, old.hardware)
                    new.application = old.application
                }
                player.ring.play(tone(48_000))
                recorder.ring.record()
                player.client.send(BTCALL_PCM_START)
                recorder.client.send(BTCALL_PCM_START)
                _ = try await call(box)
                try await box.playing("earpiece")
                try await hears(recorder.ring)
                #expect(player.ring.hardware > before[0].ring.hardware)
            }
        }

        // MARK: Beside the calls

        @Test func `a program that rings on the PCM replaces the ring tone`() async throws {
            try await run { box, path in
                let registration = try await box.register()
                _ = try await registration.reportIncoming(number: "1")
                try await eventually("it rings") {
                    Tone.isHeard(in: box.simulation.played("output:speakerphone").last?.samples ?? [])
                }
                let (client, ring) = try await open(path, BTCALL_PCM_RING)
                ring.play { _ in 0 }
                client.send(BTCALL_PCM_START)
                try await eventually("the program's silence is heard") {
                    let heard = (box.simulation.played("output:speakerphone").last?.samples ?? []).suffix(9_600)
                    return ring.isEngaged && heard.count == 9_600 && !Tone.isHeard(in: heard)
                }
                #expect(box.daemon.sounds.ringer.isReplaced)
                client.close()
                try await eventually("it rings again") {
                    Tone.isHeard(in: (box.simulation.played("output:speakerphone").last?.samples ?? []).suffix(9_600))
                }
            }
        }

        @Test func `a page on the PCM is heard with the call`() async throws {
            try await run { box, path in
                try await box.prefer(.earpiece)
                // A call without any speech.
                var description = CallProviderDescription(name: "softphone")
                description.audio = .pcm
                _ = try await box.startCall(try await box.bridge.register(box.telephone, as: description))
                try await box.route(.earpiece)
                let (client, ring) = try await open(path, BTCALL_PCM_PAGE)
                ring.play(tone(16_000))
                client.send(BTCALL_PCM_START)
                try await box.playing("earpiece")
                #expect(ring.isEngaged)
                client.send(BTCALL_PCM_STOP)
                try await eventually("its client is the clock") { !ring.isEngaged }
            }
        }

        @Test func `late audio of a program is logged when it closes`() async throws {
            try await run { box, path in
                /// Plays for half a second.
                ///
                /// - Returns: the line in the log.
                func play(isLate: Bool) async throws -> String {
                    let before = box.log.containing("closed btcall:page").count
                    let (client, ring) = try await open(path, BTCALL_PCM_PAGE, buffer: .milliseconds(500))
                    if !isLate {
                        ring.play(tone(16_000))
                        try await eventually("it is full") { ring.application >= 6_000 }
                    }
                    client.send(BTCALL_PCM_START)
                    try await eventually("half a second passes") { ring.hardware >= 8_000 }
                    client.close()
                    try await eventually("it is gone") {
                        box.log.containing("closed btcall:page").count == before + 1
                    }
                    return box.log.containing("closed btcall:page").last ?? ""
                }
                // A machine that stalls for longer than the buffer does so in one of three tries.
                var punctual = ""
                for _ in 1...3 where !punctual.hasSuffix("test closed btcall:page") {
                    punctual = try await play(isLate: false)
                }
                #expect(punctual.hasSuffix("test closed btcall:page"))
                let late = try await play(isLate: true)
                #expect(late.hasSuffix("0 ms of which came too late to be heard"))
            }
        }

        // MARK: Mixers

        @Test func `a mixer shows and sets the volumes, and is notified of each change`() async throws {
            try await run { box, path in
                try await box.prefer(.bluetooth)
                let ears = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("headset 1")
                let mixer = try PCMClient(path, PCMClient.hello(BTCALL_PCM_CONTROL))
                func shows(
                    _ element: btcall_pcm_element, _ value: Int32, sourceLocation: SourceLocation = #_sourceLocation
                ) async throws {
                    try await eventually("\(element) is \(value)", sourceLocation: sourceLocation) {
                        mixer.value(of: element) == value
                    }
                }
                func set(_ element: btcall_pcm_element, _ value: Int32) {
                    mixer.send(
                        btcall_pcm_message(kind: BTCALL_PCM_VALUE.rawValue, element: element.rawValue, value: value))
                }
                try await shows(BTCALL_PCM_CAPTURE_VOLUME, 100)
                try await shows(BTCALL_PCM_CAPTURE_SWITCH, 1)
                #expect(mixer.answer?.error == 0 && mixer.ring == nil)
                ears.headset.setSpeakerVolume(3)
                try await shows(BTCALL_PCM_PLAYBACK_VOLUME, 20)
                set(BTCALL_PCM_PLAYBACK_VOLUME, 80)
                try await ears.hear(.speakerVolume(12))
                try await shows(BTCALL_PCM_PLAYBACK_VOLUME, 80)
                set(BTCALL_PCM_CAPTURE_VOLUME, 40)
                try await eventually("the microphone is lower") {
                    try await box.bridge.audio.microphoneVolume() == 0.4
                }
                set(BTCALL_PCM_CAPTURE_SWITCH, 0)
                try await eventually("it is muted") { try await box.bridge.calls.isMuted() }
                try await box.bridge.calls.setMuted(false)
                try await shows(BTCALL_PCM_CAPTURE_SWITCH, 1)
                try await box.bridge.audio.setMicrophoneVolume(1)
                try await shows(BTCALL_PCM_CAPTURE_VOLUME, 100)
                set(BTCALL_PCM_CAPTURE_VOLUME, 101)
                try await eventually("nonsense ends it") { mixer.isGone() }
            }
        }
    }
}
