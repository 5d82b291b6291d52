import AudioPaths
import BTCall
import BTCallAPI
import BTCallBench
import BTCallDaemon
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

extension DaemonTests {
    /// The calls that an interruption holds and resumes, and the audio meanwhile.
    @Suite @ControlPlane struct InterruptionHoldTests {
        private func isHeld(_ request: Telephone.Request) -> Bool {
            if case .held = request { true } else { false }
        }

        @Test func `an interruption does not hold calls that a program renders, the board's sleep does`() async throws {
            var logind: FakeLogind?
            try await Box.run(
                prepare: { box in logind = try await FakeLogind(box.address) },
                body: { box in
                    let logind = try #require(logind)
                    defer { logind.close() }
                    try await box.prefer(.none)
                    let registration = try await box.register([.hold])
                    let call = try await box.startCall(registration)
                    let renderer = Renderer(try await box.bridge.audio.openManual())
                    try await box.route(.none)
                    let hold = try await box.bridge.audioDeviceManager.interrupt(source: "gsm")
                    #expect(try await box.bridge.audioDeviceManager.interruptions() == ["gsm"])
                    hold.release()
                    try await eventually("it has ended") {
                        try await box.bridge.audioDeviceManager.interruptions().isEmpty
                    }
                    logind.announce(true)
                    try await eventually("the far end is held") { box.telephone.requests.contains(.held(call, true)) }
                    logind.announce(false)
                    try await eventually("it is resumed") {
                        box.telephone.requests.contains(.held(call, false))
                    }
                    #expect(box.telephone.requests.filter(isHeld) == [.held(call, true), .held(call, false)])
                    renderer.end()
                })
        }

        @Test func `a free device rings while another program uses the devices of calls`() async throws {
            try await Box.run(
                configure: { $0.ring.playback = "horn" },
                body: { box in
                    let manager = box.bridge.audioDeviceManager
                    try await box.prefer(.none)
                    box.simulation.busyCards = [.earpiece, .speakerphone]
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    try await eventually("the call is interrupted") {
                        try await manager.interruptions() == ["device busy"]
                    }
                    try await registration.update(call, .ended)
                    _ = try await registration.reportIncoming(number: "1001")
                    try await eventually("it rings") { box.simulation.opened == ["output:horn"] }
                    #expect(try await manager.interruptions() == ["device busy"])
                    let hold = try await manager.interrupt(source: "gsm")
                    try await eventually("it is silent") { box.daemon.graph.isQuiet }
                    hold.release()
                    try await eventually("it rings again") { box.simulation.opened == ["output:horn", "output:horn"] }
                })
        }

        private func states(_ box: Box) async throws -> [Call.ID: Call.State] {
            Dictionary(uniqueKeysWithValues: try await box.bridge.calls.list().map { ($0.id, $0.state) })
        }

        @Test func `a held call stays held when another call was answered before the audio came back`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let first = try await box.startCall(registration)
                let hold = try await manager.interrupt(source: "gsm")
                try await eventually("the call is held") { try await states(box) == [first: .held] }
                let second = try await registration.reportIncoming(number: "1002")
                try await registration.update(second, .active)
                hold.release()
                try await eventually("it has ended") { try await manager.interruptions().isEmpty }
                // The next interruption finds the call active, and holds and resumes it.
                let next = try await manager.interrupt(source: "gsm")
                try await eventually("the second is held") { try await states(box)[second] == .held }
                next.release()
                try await eventually("the second is resumed") { try await states(box)[second] == .active }
                #expect(try await states(box)[first] == .held)
                #expect(
                    box.telephone.requests.filter(isHeld) == [
                        .held(first, true), .held(second, true), .held(second, false),
                    ])
            }
        }

        @Test func `a call that another client resumed meanwhile and holds again stays held`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                let registration = try await box.register([.hold])
                let call = try await box.startCall(registration)
                let hold = try await manager.interrupt(source: "gsm")
                try await eventually("the call is held") { try await states(box) == [call: .held] }
                try await registration.update(call, .active)
                try await registration.update(call, .held)
                hold.release()
                try await eventually("it has ended") { try await manager.interruptions().isEmpty }
                // Requested after the requests of the interruption's end.
                try await box.bridge.calls.hangup(call)
                #expect(box.telephone.requests.contains { if case .end(call, _) = $0 { true } else { false } })
                #expect(box.telephone.requests.filter(isHeld) == [.held(call, true)])
            }
        }
    }
}
