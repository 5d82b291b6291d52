import ALSA
import AudioEngine
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import BTCallSimulator
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import DBus
import Foundation
import Routing
import Synchronization
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct RingTests {
        private static let speaker = "output:speakerphone"

        /// The samples of a device's latest stream.
        private func played(_ box: Box, _ device: String) -> [Int16] {
            box.simulation.played(device).last?.samples ?? []
        }

        private func hears(
            _ box: Box, _ device: String, _ hertz: Double, sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            try await eventually("\(device) plays \(hertz) Hz", sourceLocation: sourceLocation) {
                let heard = played(box, device).suffix(9_600)
                return heard.count == 9_600 && level(heard) > 500 && share(heard, hertz) > 0.9
            }
        }

        @Test func `S2.13 the ring device rings, not the call's device, and stops with the answer`() async throws {
            let file = try ringFile(700)
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await Box.run(
                configure: { $0.ring.file = file },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1001")
                    try await hears(box, Self.speaker, 700)
                    #expect(box.simulation.opened == [Self.speaker])
                    #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
                    try await registration.update(call, .active)
                    try await box.playing("earpiece")
                    try await eventually("the ringer's device is closed") {
                        box.daemon.graph.engine.counters().terminals.count == 1
                    }
                    #expect(share(played(box, "earpiece").suffix(9_600), 700) < 0.01)
                    #expect(box.simulation.opened == [Self.speaker, "earpiece"])
                })
        }

        @Test func `S2.13 with ALSA devices the ring is only on the ring's PCM`() async throws {
            let folder = FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            ALSAEnvironment.prepare()
            func pcm(_ name: String) -> String { "file:FILE=\(folder.path())/\(name).raw,FORMAT=raw" }
            func samples(_ name: String) -> [Int16] {
                // The file does not exist before its device is opened.
                guard let data = try? Data(contentsOf: folder.appending(path: "\(name).raw")) else { return [] }
                return data.withUnsafeBytes { bytes in
                    (0..<bytes.count / 2).map { bytes.loadUnaligned(fromByteOffset: $0 * 2, as: Int16.self) }
                }
            }
            let file = try ringFile(700, rate: 11_025)
            defer { try? FileManager.default.removeItem(atPath: file) }
            var devices: Configuration?
            try await Box.run(
                configure: {
                    $0.localDevices = [
                        .speakerphone: .init(playback: pcm("ring"), capture: "null"),
                        .earpiece: .init(playback: pcm("call"), capture: "null"),
                    ]
                    $0.ring.file = file
                    devices = $0
                },
                environment: { environment in
                    if let devices { environment.paths = ALSAPathOpener(configuration: devices) }
                },
                body: { box in
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1001")
                    try await eventually("it rings") {
                        let heard = samples("ring").suffix(24_000)
                        return heard.count == 24_000 && share(heard, 700) > 0.9 && level(heard) > 5_000
                    }
                    #expect(level(samples("call")) == 0)
                    try await registration.update(call, .active)
                    try await eventually("the call is heard") {
                        let heard = samples("call").suffix(9_600)
                        return heard.count == 9_600 && share(heard, 500) > 0.9
                    }
                    try await eventually("the ringer's device is closed") {
                        box.daemon.graph.engine.counters().terminals.count == 1
                    }
                    let ring = samples("ring").count
                    #expect(share(samples("call").suffix(9_600), 700) < 0.01)
                    #expect(samples("ring").count == ring)
                })
        }

        @Test func `the ringing device is handed over to the call that is answered on it`() async throws {
            try await Box.run { box in
                try await box.prefer(.none, default: .speakerphone)
                box.simulation.sharedCard = [.speakerphone]
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1001")
                try await eventually("it rings") { level(played(box, Self.speaker)) > 500 }
                try await registration.update(call, .active)
                try await box.route(.speakerphone)
                try await box.playing("speakerphone")
                #expect(box.log.containing("is in use").isEmpty)
            }
        }

        @Test func `nothing rings with device none, with ringLocal off, or when the application rings itself`()
            async throws
        {
            let configurations: [(inout Configuration) -> Void] = [
                { $0.ring.device = nil }, { $0.routing.ringLocal = false },
            ]
            for configure in configurations {
                try await Box.run(
                    configure: configure,
                    body: { box in
                        let registration = try await box.register()
                        _ = try await registration.reportIncoming(number: "1001")
                        try await eventually("the call rings") {
                            try await box.bridge.calls.list().contains { $0.state == .ringing }
                        }
                        #expect(box.simulation.opened.isEmpty)
                    })
            }
            try await Box.run { box in
                let registration = try await box.register()
                _ = try await registration.reportIncoming(number: "1001")
                try await eventually("it rings") { level(played(box, Self.speaker)) > 500 }
                box.daemon.sounds.ringer.isReplaced = true
                try await eventually("it is silent") { box.daemon.graph.isQuiet }
                box.daemon.sounds.ringer.isReplaced = false
                try await eventually("it rings again") { !box.daemon.graph.isQuiet }
            }
        }

        @Test func `a busy ring device rings as soon as it is free, and is a problem until then`() async throws {
            try await Box.run { box in
                box.simulation.busyCards = [.speakerphone]
                let registration = try await box.register()
                let call = try await registration.reportIncoming(number: "1001")
                let problem = try await box.problem("ring.device")
                #expect(problem.what.contains("speakerphone: another program uses the card"))
                // Nothing else is opened or closed meanwhile: the ringer has to retry on its own.
                box.simulation.busyCards = []
                try await eventually("it rings") { level(played(box, Self.speaker).suffix(9_600)) > 500 }
                #expect(try await !box.bridge.status().problems.contains { $0.id == "ring.device" })
                try await registration.update(call, .ended, reason: .missed)
                try await eventually("the device is closed") { box.daemon.graph.isQuiet }
                box.simulation.busyCards = [.speakerphone]
                let second = try await registration.reportIncoming(number: "1001")
                _ = try await box.problem("ring.device")
                try await registration.update(second, .ended, reason: .missed)
                try await eventually("nothing wants to be heard") {
                    try await !box.bridge.status().problems.contains { $0.id == "ring.device" }
                }
            }
        }

        @Test func `an invalid ring file is a problem, and the built-in tone rings`() async throws {
            try await Box.run(
                configure: { $0.ring.file = "/nonexistent/ring.wav" },
                body: { box in
                    let registration = try await box.register()
                    _ = try await registration.reportIncoming(number: "1001")
                    let problem = try await box.problem("ring.file")
                    #expect(problem.what.contains("/nonexistent/ring.wav: "))
                    try await eventually("it rings") { level(played(box, Self.speaker).suffix(9_600)) > 500 }
                })
        }

        @Test func `a headset with in-band ringing gets the ring in its link, then the call`() async throws {
            try await Box.run(
                configure: {
                    $0.ring.cadence = [2_000, 100]
                    $0.ring.device = nil
                },
                body: { box in
                    try await box.prefer(.bluetooth)
                    _ = try await box.connect(Box.first)
                    let registration = try await box.register()
                    let call = try await registration.reportIncoming(number: "1001")
                    try await eventually("it rings in the headset") { level(played(box, "headset 1")) > 500 }
                    #expect(box.simulation.opened == ["headset 1"])
                    try await registration.update(call, .active)
                    try await box.playing("headset 1")
                    #expect(box.simulation.opened == ["headset 1"])
                })
        }

        // MARK: The tones of calls

        @Test func `ringback plays while the other party rings, until its own audio arrives`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let telephone = QuietTelephone()
                defer { telephone.exchange.stop() }
                let registration = try await box.bridge.register(telephone, as: .init(name: "quiet"))
                let call = try await registration.reportOutgoing(number: "1001", state: .alerting)
                try await hears(box, "earpiece", 425)
                telephone.exchange.play()
                try await hears(box, "earpiece", 500)
                try await registration.update(call, .active)
                try await hears(box, "earpiece", 500)
                #expect(telephone.exchange.takeRecorded().allSatisfy { abs(Int($0)) < 5_000 })
            }
        }

        @Test func `ringback with yes lasts until the answer, with no it is absent`() async throws {
            for (ringback, isHeard) in [(RingConfiguration.Ringback.yes, true), (.no, false)] {
                try await Box.run(
                    configure: { $0.ring.ringback = ringback },
                    body: { box in
                        try await box.prefer(.none)
                        let registration = try await box.register()
                        let call = try await registration.reportOutgoing(number: "1001", state: .alerting)
                        try await box.playing("earpiece")
                        if isHeard {
                            try await eventually("both are heard") {
                                let heard = played(box, "earpiece").suffix(9_600)
                                return heard.count == 9_600 && share(heard, 425) > 0.3 && share(heard, 500) > 0.2
                            }
                        }
                        try await registration.update(call, .active)
                        try await hears(box, "earpiece", 500)
                    })
            }
        }

        @Test func `a waiting call is announced by a tone over the active one`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                let second = try await registration.reportIncoming(number: "1002")
                try await eventually("the tone is heard") {
                    let heard = played(box, "earpiece").suffix(4_800)
                    return heard.count == 4_800 && share(heard, 425) > 0.1
                }
                #expect(box.simulation.opened == ["earpiece"])
                try await registration.update(second, .ended, reason: .missed)
                try await eventually("it has ended") { share(played(box, "earpiece").suffix(24_000), 425) < 0.001 }
            }
        }

        @Test func `S2.15 busy plays on the route, which stays until the tone has ended; then the call ends`()
            async throws
        {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await registration.reportOutgoing(number: "1001")
                try await box.route(.earpiece)
                var events = await box.bridge.events().makeAsyncIterator()
                #expect(await events.next() == .daemonAppeared)
                try await registration.update(call, .ended, reason: .busy)
                try await hears(box, "earpiece", 425)
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                #expect(try await box.bridge.calls.list().map(\.state) == [.dialing])
                // For its application the call has ended: it gets no request to end it, and its reports are refused.
                let late = await refusal { () throws(BridgeError) in try await registration.update(call, .active) }
                #expect(late?.code == .noSuchCall)
                var ends: [BridgeEvent] = []
                while ends.count < 2, let event = await events.next() {
                    switch event {
                    case .callStateChanged, .callRemoved: ends.append(event)
                    default: break
                    }
                }
                #expect(
                    ends == [
                        .callStateChanged(call, .ended, reason: "busy"), .callRemoved(call, reason: "busy"),
                    ])
                #expect(CallFailure(reason: "busy") == .busy)
                try await eventually("the device is closed") { box.daemon.graph.isQuiet }
                #expect(box.telephone.requests == [])
            }
        }
    }
}
