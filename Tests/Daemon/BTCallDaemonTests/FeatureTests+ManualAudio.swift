import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import BluetoothTypes
import CallExchange
import Configuration
import ControlLoop
import Routing
import TestSupport
import Testing

/// Audio that the application switches on and off.
extension DaemonTests.FeatureTests {
    @Test func `S0.10 with manual audio nothing is opened until the session is activated`() async throws {
        try await Box.run { box in
            try await box.bridge.session.setManual(true)
            #expect(try await box.bridge.session.isManual())
            let setting = try await box.bridge.settings().first { $0.key == "routing.manualAudio" }
            #expect(setting?.value == "true" && setting?.origin == .runtime)
            try await box.prefer(.bluetooth)
            _ = try await box.connect(Box.first)
            let registration = try await box.register()
            let call = try await box.startCall(registration)
            try await eventually("the application has the audio") { box.telephone.requests == [.audio(call)] }
            // This much silence is longer than the grace period of the start.
            var silence = 0
            try await eventually("half a second of silence goes to the far end") {
                silence += box.telephone.exchange.takeRecorded().count
                return silence > 8000
            }
            #expect(box.simulation.opened.isEmpty && box.daemon.graph.isQuiet)
            #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
            let session = try await box.bridge.session.activate()
            try await box.route(first)
            session.release()
            try await box.route(.none)
            try await box.bridge.session.setManual(false)
            try await box.route(first)
        }
    }

    @Test func `S0.11 audio starts within 500 ms of the activation, and killing the client ends it`() async throws {
        try await Box.run(
            configure: { $0.routing.manualAudio = true },
            body: { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
                var quickest = Duration.seconds(60)
                for _ in 1...3 where quickest >= .milliseconds(500) {
                    let start = ControlLoop.now
                    let session = try await box.bridge.session.activate()
                    try await box.playing("earpiece")
                    quickest = min(quickest, start.duration(to: ControlLoop.now))
                    #expect(try await box.bridge.session.isActive())
                    session.release()
                    try await box.route(.none)
                    #expect(try await !box.bridge.session.isActive())
                }
                #expect(quickest < .milliseconds(500))
                // A client that cannot clean up: the shell kills its parent, which holds the session.
                let program = try Program(box.address)
                let run = try await program(
                    "session", "activate", "--", "/bin/sh", "-c",
                    "until \"$0\" status | grep -q '^Route *earpiece'; do :; done; kill -9 $PPID", program.path)
                #expect(run.status == 128 + 9)
                try await eventually("the session has ended") { try await !box.bridge.session.isActive() }
                try await box.route(.none)
                try await eventually("the audio is free") { box.daemon.graph.isQuiet }
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
            })
    }

    @Test func `S0.12 a deactivated session closes the path, and the call is still up`() async throws {
        try await Box.run(
            configure: { $0.routing.manualAudio = true },
            body: { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                let holds = [
                    try await box.bridge.session.activate(), try await box.bridge.session.activate(),
                ]
                let other = try await CallBridge(bus: .address("\(box.address)"))
                let third = try await other.session.activate()
                try await box.route(.earpiece)
                try await box.bridge.session.deactivate()
                // Another client still holds it.
                #expect(try await box.bridge.session.isActive())
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .earpiece)
                let again = await refusal { () throws(BridgeError) in try await box.bridge.session.deactivate() }
                #expect(again?.code == .wrongState)
                try await other.session.deactivate()
                try await box.route(.none)
                #expect(try await box.bridge.status().reason == "sessionDeactivated")
                try await eventually("nothing is open") { box.daemon.graph.isQuiet }
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
                #expect(try await box.bridge.calls.list().map(\.state) == [.active])
                for hold in holds + [third] { hold.release() }
                await other.close()
            })
    }
}
