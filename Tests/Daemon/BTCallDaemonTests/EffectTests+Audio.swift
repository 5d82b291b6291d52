import AudioDSP
import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

/// Sound cards that record whether they were opened for sharing.
@ControlPlane
final class MixingPaths: PathOpening {
    private let paths: any PathOpening
    private var isMixing = false
    private(set) var opened: [Bool] = []

    init(_ paths: any PathOpening) { self.paths = paths }

    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        opened.append(isMixing)
        return try paths.openPath(kind)
    }

    func absence(of kind: LocalDevice) -> PathError? { paths.absence(of: kind) }
    func setMixing(_ isOn: Bool) { isMixing = isOn }
}

/// Sound cards that record the order in which they were checked and opened.
@ControlPlane
private final class OrderedPaths: PathOpening {
    private let paths: any PathOpening
    private(set) var course: [String] = []

    init(_ paths: any PathOpening) { self.paths = paths }

    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath { try paths.openPath(kind) }

    func openOutput(_ device: OutputDevice) throws(PathError) -> OpenPath {
        course.append("rings on \(device)")
        return try paths.openOutput(device)
    }

    func absence(of kind: LocalDevice) -> PathError? {
        course.append("looks at \(kind)")
        return paths.absence(of: kind)
    }
}

extension DaemonTests {
    /// Keys of sound: the documented time of their effect, and the real one.
    @Suite @ControlPlane struct AudioEffectTests {
        private func effect(_ box: Box, _ key: String) async throws -> Setting.Effect {
            try #require(try await box.bridge.settings().first { $0.key == key }).effect
        }

        /// Runs a daemon whose microphone gives a constant sample, which a high pass removes.
        private func run(
            _ configure: @escaping (inout Configuration) -> Void = { _ in },
            body: (Box, PacedBoard) async throws -> Void
        ) async throws {
            let cards = PacedBoard()
            try await Box.run(
                configure: configure, environment: { $0.paths = cards },
                body: { box in
                    try await box.prefer(.none, default: .speakerphone)
                    try await body(box, cards)
                })
        }

        @Test func `S1.26 the keys of voice processing apply at once, during a call`() async throws {
            let configure: (inout Configuration) -> Void = {
                $0.voiceProcessing = .speex
                $0.takesEcho = false
                $0.takesNoise = false
                $0.adjustsGain = false
                $0.takesHum = false
            }
            try await run(configure) { box, cards in
                let keys = ["voiceProcessing", "echoCancellation", "noiseSuppression", "automaticGain", "highPass"]
                for key in keys { #expect(try await effect(box, "audio.\(key)") == .now, "\(key)") }
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await hears(box, PacedBoard.sample)
                try await box.bridge.setSetting("audio.highPass", to: "yes")
                try await hears(box, 0)
                try await box.bridge.setSetting("audio.voiceProcessing", to: "none")
                try await hears(box, PacedBoard.sample)
                try await box.bridge.setSetting("audio.voiceProcessing", to: "speex")
                try await hears(box, 0)
                try await box.bridge.setSetting("audio.highPass", to: "no")
                try await hears(box, PacedBoard.sample)
                #expect(cards.speakers.count == 1 && cards.microphones.count == 1)
            }
        }

        @Test func `S1.26 audio.mixWithOthers applies when a card is next opened, not to the open one`() async throws {
            try await Box.run(through: MixingPaths.init) { box, paths in
                #expect(try await effect(box, "audio.mixWithOthers") == .reopen)
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                try await box.bridge.setSetting("audio.mixWithOthers", to: "yes")
                try await box.playing("earpiece")
                #expect(paths.opened == [false])
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.playing("speakerphone")
                #expect(paths.opened == [false, true])
            }
        }

        @Test func `S1.26 ring keys apply from the next call, not to the ringing one`() async throws {
            try await Box.run { box in
                for setting in try await box.bridge.settings() where setting.key.hasPrefix("ring.") {
                    #expect(setting.effect == .nextCall, "\(setting.key)")
                }
                try await box.prefer(.none)
                let registration = try await box.register()
                let first = try await registration.reportIncoming(number: "1001")
                try await eventually("it rings") { box.simulation.opened == ["output:speakerphone"] }
                try await box.bridge.setSetting("ring.device", to: "earpiece")
                try await eventually("it keeps ringing") {
                    box.simulation.played("output:speakerphone").last?.samples.count ?? 0 > 9_600
                }
                #expect(box.simulation.opened == ["output:speakerphone"] && !box.daemon.graph.isQuiet)
                try await registration.update(first, .ended, reason: .missed)
                try await eventually("it is silent") { box.daemon.graph.isQuiet }
                _ = try await registration.reportIncoming(number: "1002")
                try await eventually("the next call rings there") {
                    box.simulation.opened == ["output:speakerphone", "output:earpiece"]
                }
            }
        }

        @Test func `after manual rendering the cards are checked before one of them rings`() async throws {
            try await Box.run(
                through: OrderedPaths.init, configure: { $0.routing.manualRendering = true },
                body: { box, paths in
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    _ = try await registration.reportIncoming(number: "1001")
                    try await eventually("the call rings") {
                        try await box.bridge.calls.list().contains { $0.state == .ringing }
                    }
                    #expect(paths.course.isEmpty)
                    try await box.bridge.setSetting("routing.manualRendering", to: "false")
                    try await eventually("it rings") { paths.course.contains("rings on speakerphone") }
                    #expect(paths.course.last == "rings on speakerphone")
                    #expect(Set(paths.course.dropLast()) == ["looks at speakerphone", "looks at earpiece"])
                })
        }

        @Test func `S1.26 audio.alwaysPrepared and privacy.microphone apply at once`() async throws {
            try await run { box, cards in
                for key in ["audio.alwaysPrepared", "privacy.microphone"] {
                    #expect(try await effect(box, key) == .now, "\(key)")
                }
                try await box.bridge.setSetting("audio.alwaysPrepared", to: "yes")
                try await eventually("the microphone runs") { cards.openMicrophones == 1 }
                try await box.bridge.setSetting("audio.alwaysPrepared", to: "no")
                try await eventually("it is closed") { cards.openMicrophones == 0 }
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await hears(box, PacedBoard.sample)
                try await box.bridge.setSetting("privacy.microphone", to: "deny")
                try await hears(box, 0)
                try await eventually("the microphone is closed in the call") { cards.openMicrophones == 0 }
                try await box.bridge.setSetting("privacy.microphone", to: "allow")
                try await hears(box, PacedBoard.sample)
            }
        }
    }
}
