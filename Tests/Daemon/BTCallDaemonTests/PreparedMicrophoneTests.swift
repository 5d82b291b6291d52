import AudioPaths
import BTCall
import BTCallDaemon
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The microphone of a sound card when another program needs it, or when it cannot be opened.
    @Suite @ControlPlane struct PreparedMicrophoneTests {
        /// Runs a daemon whose local devices are streams of alsa-lib, with the loudspeaker as the default.
        private func run(
            configure: @escaping (inout Configuration) -> Void = { _ in },
            prepare: (Box) async throws -> Void = { _ in }, body: (Box, PacedBoard) async throws -> Void
        ) async throws {
            let cards = PacedBoard()
            try await Box.run(
                configure: configure, prepare: prepare, environment: { $0.paths = cards },
                body: { box in
                    try await box.prefer(.none, default: .speakerphone)
                    try await body(box, cards)
                })
        }

        @Test func `the prepared microphone is closed during an interruption`() async throws {
            let configure: (inout Configuration) -> Void = { $0.alwaysPrepared = true }
            try await run(configure: configure) { box, cards in
                try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                let hold = try await box.bridge.audioDeviceManager.interrupt(source: "gsm")
                try await eventually("it is closed") { cards.openMicrophones == 0 }
                #expect(try await box.bridge.audio.isPrepared() == false)
                #expect(try await box.bridge.audio.isRecordingAlwaysPrepared())
                hold.release()
                try await eventually("it is prepared again") { try await box.bridge.audio.isPrepared() }
                #expect(cards.microphones.count == 2 && cards.openSpeakers == 0)
            }
        }

        @Test func `the board sleeps only after the prepared microphone is closed`() async throws {
            var logind: FakeLogind?
            try await run(
                configure: { $0.alwaysPrepared = true },
                prepare: { box in logind = try await FakeLogind(box.address) },
                body: { box, cards in
                    let logind = try #require(logind)
                    defer { logind.close() }
                    try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                    try await eventually("btcalld delays the sleep") { logind.isDelayed }
                    logind.announce(true)
                    try await eventually("the board may sleep") { !logind.isDelayed }
                    #expect(cards.openMicrophones == 0 && box.daemon.graph.isQuiet)
                    logind.announce(false)
                    try await eventually("it is prepared again") { try await box.bridge.audio.isPrepared() }
                })
        }

        /// Muted by restart and unmuted again.
        private func muteAndUnmute(_ box: Box) async throws {
            try await box.bridge.audio.setMuteMode(.restart)
            try await box.bridge.calls.setMuted(true)
            try await box.bridge.calls.setMuted(false)
        }

        @Test func `A microphone that fails long after unmuting does not mute the call on a headset`() async throws {
            try await run { box, cards in
                try await box.prefer(.bluetooth, default: .speakerphone)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(try #require(Choice("bluetooth:\(Box.first)")))
                try await muteAndUnmute(box)
                cards.isBusy = true
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                #expect(try await box.problem("microphone").what.contains("paced is in use"))
                #expect(try await box.bridge.calls.isMuted() == false)
            }
        }

        @Test func `A prepared microphone that fails without a call does not mute the next one`() async throws {
            let configure: (inout Configuration) -> Void = { $0.alwaysPrepared = true }
            try await run(configure: configure) { box, cards in
                try await eventually("it is prepared") { try await box.bridge.audio.isPrepared() }
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.speakerphone)
                try await muteAndUnmute(box)
                try await registration.update(call, .ended)
                try await eventually("the loudspeaker is closed") { cards.openSpeakers == 0 }
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(false)
                try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                cards.isBusy = true
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                _ = try await box.problem("microphone")
                #expect(try await box.bridge.calls.isMuted() == false)
            }
        }

        @Test func `The problem of a closed microphone ends when nothing needs it`() async throws {
            try await run { box, cards in
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.speakerphone)
                try await box.bridge.audio.setMuteMode(.restart)
                try await box.bridge.calls.setMuted(true)
                try await eventually("the microphone is closed") { cards.openMicrophones == 0 }
                cards.isBusy = true
                try await box.bridge.calls.setMuted(false)
                _ = try await box.problem("microphone")
                try await registration.update(call, .ended)
                try await box.noProblem("microphone")
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(true)
                _ = try await box.problem("microphone")
                try await box.bridge.audio.setRecordingAlwaysPreparedMode(false)
                try await box.noProblem("microphone")
            }
        }

        @Test func `Preparing without a local microphone is a problem with its remedy`() async throws {
            try await Box.run(
                configure: { $0.alwaysPrepared = true },
                body: { box in
                    #expect(try await box.problem("prepared").remedy.contains("[device speakerphone]"))
                    try await box.bridge.setSetting("audio.alwaysPrepared", to: "no")
                    try await box.noProblem("prepared")
                })
        }
    }
}
