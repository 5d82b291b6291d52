import ALSA
import AudioDSP
import AudioEngine
import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import Configuration
import ControlLoop
import Glibc
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The device that is open and silent while a headset carries the call, and takes over when the headset is lost.
    @Suite @ControlPlane struct StandbyTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        /// Runs a daemon with a call on a headset, for which the loudspeaker would take over.
        private func run(
            board: SimulatedBoard? = nil, configure: (inout Configuration) -> Void = { _ in },
            prepare: @ControlPlane (PacedBoard) -> Void = { _ in },
            body: (Box, PacedBoard, Ears, ProviderRegistration, Call.ID) async throws -> Void
        ) async throws {
            let cards = PacedBoard()
            prepare(cards)
            try await Box.run(
                board: board,
                configure: {
                    // The call begins on the headset, however long its link takes.
                    $0.routing.startGrace = .seconds(10)
                    configure(&$0)
                },
                environment: { $0.paths = cards },
                body: { box in
                    try await box.prefer(.bluetooth, default: .speakerphone)
                    let ears = try await box.connect(Box.first)
                    let registration = try await box.register()
                    #expect(cards.opened.isEmpty && box.daemon.graph.isQuiet)
                    let call = try await box.startCall(registration)
                    try await box.route(first)
                    try await box.playing("headset 1")
                    try await body(box, cards, ears, registration, call)
                })
        }

        private func standsBy(_ cards: PacedBoard) async throws {
            try await eventually("a device stands by") { cards.openSpeakers == 1 }
        }

        private func lose(_ ears: Ears, _ box: Box) {
            ears.headset.dieSilently()
            box.simulation.die(Box.first)
        }

        /// Occupies the daemon's own thread until a card plays, for five seconds at most.
        private func occupyUntilStarted(_ card: PacedCard) {
            let end = ControlLoop.now.advanced(by: .seconds(5))
            while card.starts == 0, ControlLoop.now < end { usleep(1_000) }
        }

        @Test func `the device that would take over is open and silent, and is closed with the call`() async throws {
            try await run { box, cards, _, registration, call in
                try await standsBy(cards)
                #expect(cards.opened == ["speakerphone playback"])
                #expect(cards.speakers[0].starts == 0 && cards.speakers[0].frames == 0)
                let kinds = box.daemon.graph.engine.counters().terminals.compactMap {
                    box.daemon.graph.endpoint(ofTerminal: $0.id)
                }
                #expect(kinds == [.headset(Box.first)])
                try await registration.update(call, .ended)
                try await eventually("everything is closed") { box.daemon.graph.isQuiet }
                #expect(cards.openSpeakers == 0 && cards.speakers[0].starts == 0 && cards.opened.count == 1)
            }
        }

        @Test func `a lost headset's call goes on without opening the loudspeaker, and its microphone opens then`()
            async throws
        {
            try await run { box, cards, ears, _, _ in
                try await standsBy(cards)
                lose(ears, box)
                try await box.route(.speakerphone)
                #expect(try await box.bridge.status().reason == "linkSilent")
                try await hears(box, PacedBoard.sample)
                try await eventually("the far end is heard") { Tone.isHeard(in: cards.speakers[0].played) }
                #expect(cards.opened == ["speakerphone playback", "speakerphone capture"])
                #expect(cards.speakers[0].starts == 1 + cards.speakers[0].xruns)
                #expect(try await box.bridge.session.openedAudio()?.device == .speakerphone)
            }
        }

        @Test func `it plays at the limit of silence, although the daemon has not even heard of the loss`() async throws
        {
            try await run { box, cards, ears, _, _ in
                try await standsBy(cards)
                lose(ears, box)
                occupyUntilStarted(cards.speakers[0])
                #expect(cards.speakers[0].isRunning)
                #expect(box.daemon.router.policy.current == .headset(Box.first, .hfp))
                try await box.route(.speakerphone)
                #expect(try await box.bridge.status().reason == "linkSilent")
                try await eventually("the engine's switch is known") {
                    box.daemon.graph.routedTerminal.flatMap { box.daemon.graph.endpoint(ofTerminal: $0) }
                        == .local(.speakerphone)
                }
                try await hears(box, PacedBoard.sample)
                #expect(cards.opened == ["speakerphone playback", "speakerphone capture"])
                #expect(cards.speakers[0].starts == 1 + cards.speakers[0].xruns)
            }
        }

        @Test func `where the policy decides otherwise than was prepared, the call goes where the policy says`()
            async throws
        {
            try await run { box, cards, ears, _, _ in
                try await standsBy(cards)
                // Not what the policy has said.
                box.daemon.graph.setStandby(.earpiece)
                try await eventually("the earpiece stands by") {
                    cards.opened.last == "earpiece playback" && cards.openSpeakers == 1
                }
                lose(ears, box)
                occupyUntilStarted(cards.speakers[1])
                #expect(cards.speakers[1].isRunning)
                try await box.route(.speakerphone)
                try await eventually("the far end is heard there") {
                    cards.speakers.count == 3 && Tone.isHeard(in: cards.speakers[2].played)
                }
                try await eventually("the earpiece is closed") { cards.openSpeakers == 1 }
                try await hears(box, PacedBoard.sample)
            }
        }

        @Test func `the mixer of a device that stands by is set beforehand, and guarded once it carries the call`()
            async throws
        {
            let board = SimulatedBoard()
            board.addVolume("Speaker", 10)
            let configure: (inout Configuration) -> Void = {
                $0.localDevices[.speakerphone]?.mixer = "Speaker"
                $0.localDevices[.speakerphone]?.volume = 80
            }
            try await run(board: board, configure: configure) { box, cards, ears, registration, call in
                let volume = try #require(board.volumes["Speaker"])
                try await standsBy(cards)
                #expect(volume.setting.volumes == [40, 40] && volume.writes == 1)
                // Another program may change it meanwhile.
                volume.change(5)
                #expect(volume.setting.volumes == [5, 5])
                lose(ears, box)
                try await box.route(.speakerphone)
                try await eventually("it is set") { volume.setting.volumes == [40, 40] }
                volume.change(5)
                try await eventually("it is set again") { volume.setting.volumes == [40, 40] }
                try await registration.update(call, .ended)
                try await eventually("it is left alone") { volume.opened == 0 }
            }
        }

        @Test func `the mixer of a device that stood by is left alone after the call`() async throws {
            let board = SimulatedBoard()
            board.addVolume("Speaker", 10)
            let configure: (inout Configuration) -> Void = { $0.localDevices[.speakerphone]?.mixer = "Speaker" }
            try await run(board: board, configure: configure) { box, cards, _, registration, call in
                let volume = try #require(board.volumes["Speaker"])
                try await standsBy(cards)
                #expect(volume.opened == 1 && volume.setting.volumes == [10, 10])
                try await registration.update(call, .ended)
                try await eventually("everything is closed") { box.daemon.graph.isQuiet }
                #expect(volume.opened == 0 && volume.writes == 1)
            }
        }

        @Test func `a device that the call has left for the headset stands by again`() async throws {
            try await run { box, cards, _, _, _ in
                try await standsBy(cards)
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.route(.speakerphone)
                try await hears(box, PacedBoard.sample)
                #expect(cards.speakers.count == 1)
                try await box.bridge.audioDeviceManager.clearSelection()
                try await box.route(first)
                try await eventually("it stands by again") {
                    cards.speakers.count == 2 && cards.openSpeakers == 1 && cards.openMicrophones == 0
                }
                #expect(cards.speakers[1].starts == 0)
            }
        }

        @Test func `another default stands by in its place`() async throws {
            try await run { box, cards, _, _, _ in
                try await standsBy(cards)
                try await box.bridge.audioDeviceManager.setDefaultAudio(.earpiece)
                try await eventually("the earpiece stands by") { cards.opened.last == "earpiece playback" }
                #expect(cards.openSpeakers == 1 && cards.speakers.count == 2)
            }
        }

        @Test func `nothing stands by during an interruption`() async throws {
            try await run { box, cards, _, _, _ in
                try await standsBy(cards)
                let hold = try await box.bridge.audioDeviceManager.interrupt(source: "gsm")
                try await eventually("it is closed") { cards.openSpeakers == 0 }
                hold.release()
                try await box.route(first)
                try await standsBy(cards)
                #expect(cards.opened == ["speakerphone playback", "speakerphone playback"])
            }
        }

        @Test func `S1.26 audio.warmStandby applies at once, and cards that are shared are left alone`() async throws {
            try await run { box, cards, _, _, _ in
                try await standsBy(cards)
                let setting = try await box.bridge.settings().first { $0.key == "audio.warmStandby" }
                #expect(setting?.effect == .now && setting?.value == "yes")
                for (key, value) in [("warmStandby", "no"), ("warmStandby", "yes"), ("mixWithOthers", "yes")] {
                    try await box.bridge.setSetting("audio.\(key)", to: value)
                    let isOpen = key == "warmStandby" && value == "yes"
                    try await eventually("\(key) is \(value)") { cards.openSpeakers == (isOpen ? 1 : 0) }
                }
                try await box.playing("headset 1")
            }
        }

        @Test func `without it the loudspeaker is opened when the headset is lost`() async throws {
            let configure: (inout Configuration) -> Void = { $0.warmStandby = false }
            try await run(configure: configure) { box, cards, ears, _, _ in
                #expect(cards.opened.isEmpty)
                lose(ears, box)
                try await hears(box, PacedBoard.sample)
                #expect(Set(cards.opened) == ["speakerphone playback", "speakerphone capture"])
            }
        }

        @Test func `a device that another program has does not stand by, which is no problem, and takes over later`()
            async throws
        {
            let prepare: @ControlPlane (PacedBoard) -> Void = { $0.hasBusySpeakers = true }
            try await run(prepare: prepare) { box, cards, ears, _, _ in
                try await eventually("it was tried") { cards.refusedSpeakers == 1 }
                try await eventually("the log says so") {
                    !box.log.containing("speakerphone does not stand by (paced is in use)").isEmpty
                }
                let problems = try await box.bridge.status().problems.map(\.id)
                #expect(!problems.contains("device.speakerphone"))
                try await box.playing("headset 1")
                #expect(cards.refusedSpeakers == 1)
                cards.hasBusySpeakers = false
                lose(ears, box)
                try await box.route(.speakerphone)
                try await hears(box, PacedBoard.sample)
                #expect(cards.refusedSpeakers == 1 && cards.speakers.count == 1)
            }
        }

        @Test func `a microphone that needs the card gets it`() async throws {
            try await run { box, cards, _, _, _ in
                cards.isHalfDuplex = true
                try await standsBy(cards)
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                try await eventually("the microphone is prepared") { try await box.bridge.audio.isPrepared() }
                #expect(cards.openSpeakers == 0 && cards.openMicrophones == 1)
                let problems = try await box.bridge.status().problems.map(\.id)
                #expect(!problems.contains("microphone"))
            }
        }

        @Test func `a playback that needs a card gets it, and the device stands by again afterwards`() async throws {
            try await run { box, cards, _, _, _ in
                try await standsBy(cards)
                cards.hasOutputs = true
                let playback = try box.daemon.graph.play(
                    .tone(ToneSpecification([880])), PlaybackManner(), at: .output(.local(.speakerphone), joins: false))
                try await eventually("it plays") { cards.opened.last == "speakerphone output" }
                #expect(cards.openSpeakers == 1 && cards.speakers[0].starts == 0)
                box.daemon.graph.engine.endPlayback(playback)
                try await eventually("the device stands by again") { cards.opened.count == 3 }
                #expect(cards.opened.last == "speakerphone playback" && cards.openSpeakers == 1)
            }
        }
    }
}
