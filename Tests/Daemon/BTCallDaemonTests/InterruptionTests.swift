import ALSA
import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import Configuration
import ControlLoop
import Foundation
import Routing
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct InterruptionTests {
        @Test(arguments: ["announcement", "gsm"])
        func `S2.14 an interruption has a source, the far end is put on hold, and both end with it`(source: String)
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                let hold = try await manager.interrupt(source: source)
                try await box.route(.none)
                #expect(try await manager.interruptions() == [source])
                #expect(try await box.bridge.status().reason == "interruptionBegan")
                try await eventually("the far end is held") { box.telephone.requests.contains(.held(call, true)) }
                try await eventually("the call is held") {
                    try await box.bridge.calls.list().map(\.state) == [.held]
                }
                hold.release()
                try await eventually("the far end is resumed") {
                    box.telephone.requests.filter { $0 == .held(call, false) }.count == 1
                }
                try await eventually("the call is active") {
                    try await box.bridge.calls.list().map(\.state) == [.active]
                }
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                #expect(try await manager.interruptions().isEmpty)
            }
        }

        @Test func `S2.14 the board's sleep is a source, and holds the call`() async throws {
            var logind: FakeLogind?
            try await Box.run(
                prepare: { box in logind = try await FakeLogind(box.address) },
                body: { box in
                    let logind = try #require(logind)
                    defer { logind.close() }
                    try await box.prefer(.none)
                    let registration = try await box.register([.hold])
                    let call = try await box.startCall(registration)
                    try await box.route(.earpiece)
                    try await eventually("btcalld delays the sleep") { logind.isDelayed }
                    logind.announce(true)
                    try await eventually("the far end is held") { box.telephone.requests.contains(.held(call, true)) }
                    #expect(try await box.bridge.audioDeviceManager.interruptions() == ["suspend"])
                    logind.announce(false)
                    try await eventually("the call is active") {
                        try await box.bridge.calls.list().map(\.state) == [.active]
                            && box.telephone.requests.contains(.held(call, false))
                    }
                    try await box.route(.earpiece)
                })
        }

        @Test func `S2.14 S3.5 a busy device is a source when the call has no other device`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                box.simulation.busyCards = [.earpiece]
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                // Another device is available.
                try await box.route(.speakerphone)
                #expect(try await manager.interruptions().isEmpty)
                try await registration.update(call, .ended)
                box.simulation.busyCards = [.earpiece, .speakerphone]
                let second = try await box.startCall(registration)
                try await eventually("the call is interrupted") { try await manager.interruptions() == ["device busy"] }
                try await eventually("the far end is held") { box.telephone.requests.contains(.held(second, true)) }
                box.simulation.busyCards = []
                try await eventually("the far end is resumed") {
                    box.telephone.requests.contains(.held(second, false))
                }
                try await eventually("it has ended") { try await manager.interruptions().isEmpty }
                try await box.playing("earpiece")
                let refused = await refusal { () throws(BridgeError) in
                    _ = try await manager.interrupt(source: "device busy")
                }
                #expect(refused?.code == .invalidArgument)
            }
        }

        @Test func `a call that cannot be held, or is not to be, is interrupted without hold`() async throws {
            for capabilities: Set<CallProviderDescription.Capability> in [[], [.hold]] {
                try await Box.run(
                    configure: { $0.holdsInterrupted = capabilities.isEmpty },
                    body: { box in
                        try await box.prefer(.none)
                        let registration = try await box.register(capabilities)
                        _ = try await box.startCall(registration)
                        try await box.route(.earpiece)
                        let hold = try await box.bridge.audioDeviceManager.interrupt(source: "page")
                        try await box.route(.none)
                        hold.release()
                        try await box.route(.earpiece)
                        #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                        #expect(!box.telephone.requests.contains { if case .held = $0 { true } else { false } })
                    })
            }
        }

        @Test func `S3.5 sharing of sound cards is logged once, and can be set at run time`() async throws {
            try await Box.run { box in
                #expect(box.log.containing("mixWithOthers").isEmpty)
                for _ in 1...2 { try await box.bridge.setSetting("audio.mixWithOthers", to: "yes") }
                #expect(box.log.containing("shared with other programs (mixWithOthers)").count == 1)
            }
        }
    }
}
