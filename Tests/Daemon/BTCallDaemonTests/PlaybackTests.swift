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
    @Suite @ControlPlane struct PlaybackTests {
        private static let speaker = "output:speakerphone"

        private func recent(_ box: Box, _ device: String) -> ArraySlice<Int16> {
            (box.simulation.played(device).last?.samples ?? []).suffix(4_800)
        }

        @Test func `a page plays over the lowered call, and the far end does not hear it`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                // The first blocks fade in, which a level would show.
                try await eventually("the far end alone is heard") { share(recent(box, "earpiece"), 500) > 0.995 }
                let before = level(recent(box, "earpiece"))
                let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                try await eventually("the page is heard") { share(recent(box, "earpiece"), 900) > 0.9 }
                // 12 dB lower, at the far end's frequency.
                try await eventually("the far end is lowered") {
                    let heard = recent(box, "earpiece")
                    let lowered = level(heard) * share(heard, 500).squareRoot()
                    return (0.2...0.3).contains(lowered / before)
                }
                #expect(share(box.telephone.exchange.takeRecorded().suffix(8_000), 900, rate: 16_000) < 0.01)
                #expect(box.simulation.opened == ["earpiece"])
                speaker.stop()
                try await eventually("the call is as loud as before") {
                    let heard = recent(box, "earpiece")
                    return share(heard, 500) > 0.9 && abs(level(heard) / before - 1) < 0.05
                }
            }
        }

        @Test func `without a call a page plays on its own device, which is closed afterwards`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                try await eventually("the page is heard") { share(recent(box, Self.speaker), 900) > 0.9 }
                // A call moves the page to its device.
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await eventually("it is heard over the call") { share(recent(box, "earpiece"), 900) > 0.8 }
                speaker.stop()
                try await eventually("the call alone is heard") { share(recent(box, "earpiece"), 500) > 0.9 }
                try await eventually("the page's device is closed") {
                    box.daemon.graph.engine.counters().terminals.count == 1
                }
            }
        }

        @Test func `audio played to the ring device is not heard in the call`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.playing("earpiece")
                let speaker = Speaker(try await box.bridge.audio.play(to: .ring), 900)
                try await eventually("it is heard") { share(recent(box, Self.speaker), 900) > 0.9 }
                #expect(share(recent(box, "earpiece"), 900) < 0.01)
                speaker.stop()
            }
        }

        @Test func `during an interruption nothing plays, and waiting playbacks play afterwards`() async throws {
            try await Box.run { box in
                let hold = try await box.bridge.audioDeviceManager.interrupt(source: "alarm")
                let speaker = Speaker(try await box.bridge.audio.play(to: .page), 900)
                // The reply follows the effects of the request.
                #expect(box.daemon.graph.isQuiet && box.simulation.opened.isEmpty)
                hold.release()
                try await eventually("the page is heard") { share(recent(box, Self.speaker), 900) > 0.9 }
                speaker.stop()
                try await eventually("its device is closed") { box.daemon.graph.isQuiet }
            }
        }

        @Test func `an invalid request is refused with what is accepted`() async throws {
            try await Box.run(
                configure: { $0.ring.device = nil },
                body: { box in
                    let audio = box.bridge.audio
                    var error = await refusal { () throws(BridgeError) in _ = try await audio.play(to: .ring) }
                    #expect(error?.code == .wrongState && error?.message.contains("does not ring") == true)
                    for priority in [-1, 11] {
                        error = await refusal { () throws(BridgeError) in
                            _ = try await audio.play(to: .page, priority: priority)
                        }
                        #expect(error?.code == .invalidArgument)
                        #expect(error?.message.contains("accepted: 0 to 10") == true)
                    }
                    for duck in [0.1, -91, .nan] {
                        error = await refusal { () throws(BridgeError) in
                            _ = try await audio.play(to: .page, duckDecibels: duck)
                        }
                        #expect(error?.message.contains("accepted: -90.0 to 0.0") == true)
                    }
                    error = await refusal { () throws(BridgeError) in
                        _ = try await audio.play(to: .page, rate: 11_025)
                    }
                    #expect(error?.code == .invalidArgument)
                    var held: [AudioInjection] = []
                    let second = try await CallBridge(bus: .address("\(box.address)"))
                    let third = try await CallBridge(bus: .address("\(box.address)"))
                    for _ in 1...4 { held.append(try await audio.play(to: .page)) }
                    error = await refusal { () throws(BridgeError) in _ = try await audio.play(to: .page) }
                    #expect(error?.code == .wrongState && error?.message.contains("the most for one program") == true)
                    for _ in 1...4 { held.append(try await second.audio.play(to: .page)) }
                    error = await refusal { () throws(BridgeError) in _ = try await third.audio.play(to: .page) }
                    #expect(error?.code == .wrongState && error?.message.contains("8 programs play already") == true)
                    held.removeLast()
                    try await eventually("its place is free again") { (try? await third.audio.play(to: .page)) != nil }
                    held.removeFirst()
                    try await eventually("one of the first program's is") { (try? await audio.play(to: .page)) != nil }
                    await second.close()
                    await third.close()
                })
        }

        @Test func `a ring device without a section is a problem from the start, and plays nothing`() async throws {
            try await Box.run(
                configure: { $0.ring.device = .wiredHeadset },
                body: { box in
                    let problem = try await box.problem("ring.device")
                    #expect(problem.what.contains("[ring] device is wiredHeadset"))
                    for destination: BridgeAudio.Hearer in [.ring, .page] {
                        let error = await refusal { () throws(BridgeError) in
                            _ = try await box.bridge.audio.play(to: destination)
                        }
                        #expect(error?.code == .wrongState)
                        #expect(error?.message.contains("no section [device wiredHeadset]") == true)
                    }
                    try await box.bridge.setSetting("ring.device", to: "earpiece")
                    try await box.noProblem("ring.device")
                    _ = try await box.bridge.audio.play(to: .ring)
                })
        }

        @Test func `btcall play accepts a destination`() async throws {
            let file = try ringFile(900, rate: 8_000)
            defer { try? FileManager.default.removeItem(atPath: file) }
            try await Box.run { box in
                let program = try Program(box.address)
                let run = try await program("play", file, "--to", "page", "--priority", "7", "--duck=-20")
                #expect(run.status == 0)
                #expect(run.text.contains("1.0 s"))
                let heard = box.simulation.played(Self.speaker).flatMap(\.samples)
                #expect(heard.count { abs(Int($0)) > 12_000 } > 10_000)
                #expect(try await program("play", file, "--to", "nobody").status != 0)
            }
        }
    }
}
