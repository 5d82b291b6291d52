import AudioPaths
import BTCall
import BTCallAPI
import BTCallDaemon
import BluetoothTypes
import ControlLoop
import DBus
import Glibc
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct HoldTests {
        private let first = Choice("bluetooth:\(Box.first)") ?? .none

        @Test func `A call is silent while any program interrupts, and resumes when the last interruption has ended`()
            async throws
        {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.bluetooth)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(first)
                let page = try await manager.interrupt(source: "page")
                try await box.route(.none)
                #expect(try await box.bridge.status().reason == "interruptionBegan")
                try await eventually("link and cards are closed") { box.daemon.graph.isQuiet }
                let alarm = try await manager.interrupt(source: "alarm")
                let again = try await manager.interrupt(source: "page")
                #expect(try await manager.interruptions() == ["page", "alarm"])
                page.release()
                try await eventually("the first has ended") {
                    try await manager.interruptions() == ["alarm", "page"]
                }
                again.release()
                try await eventually("the third has ended") { try await manager.interruptions() == ["alarm"] }
                #expect(try await manager.activeRoute() == .none)
                #expect(try await box.bridge.calls.list().map(\.id) == [call])
                alarm.release()
                try await box.route(first)
                #expect(try await box.bridge.status().reason == "interruptionEnded")
                try await box.playing("headset 1")
            }
        }

        @Test func `An interruption without resume keeps the call silent until a later one resumes`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                let alarm = try await manager.interrupt(source: "alarm", resuming: false)
                let page = try await manager.interrupt(source: "page")
                alarm.release()
                page.release()
                try await eventually("nobody interrupts") { try await manager.interruptions().isEmpty }
                #expect(try await manager.activeRoute() == .none)
                let release = try await manager.interrupt(source: "release")
                release.release()
                try await box.route(.earpiece)
            }
        }

        @Test func `An interruption without a call does not silence the next one`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                let alarm = try await manager.interrupt(source: "alarm", resuming: false)
                alarm.release()
                try await eventually("nobody interrupts") { try await manager.interruptions().isEmpty }
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
            }
        }

        @Test func `A held selection ends with its owner's connection or process`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                let other = try await CallBridge(bus: .address("\(box.address)"))
                var hold: Hold? = try await other.audioDeviceManager.acquireSelection(.speakerphone)
                try await box.route(.speakerphone)
                await other.close()
                // The descriptor counts, not the connection.
                #expect(try await box.bridge.audioDeviceManager.activeRoute() == .speakerphone)
                withExtendedLifetime(hold) {}
                hold = nil
                try await box.route(.earpiece)
                let program = try Program(box.address)
                let run = try await program("select", "speakerphone", "--", path(program), "status")
                #expect(run.status == 0)
                #expect(run.text.contains("speakerphone"))
                try await box.route(.earpiece)
                #expect(try await program("select", "speakerphone", "--", "false").status == 1)
                #expect(try await program("select", "speakerphone", "--", "/nonexistent").status == 127)
                let absent = try await program("select", "wiredHeadset", "--", "true")
                #expect(absent.status == 1)
                #expect(absent.text.contains("is not available now"))
                try await box.route(.earpiece)
            }
        }

        @Test func `A program run by btcall interrupt gets the signals, and the interruption ends with it`()
            async throws
        {
            try await Box.run { box in
                let program = try Program(box.address)
                func interrupted(_ script: String) async throws -> Int32 {
                    try await program("interrupt", "page", "--", "sh", "-c", script).status
                }
                #expect(try await interrupted("kill -TERM $PPID; exec sleep 20") == 128 + 15)
                #expect(try await interrupted("kill -HUP $PPID; exec sleep 20") == 128 + 1)
                // The terminal sends these signals to the program itself.
                #expect(try await interrupted("kill -INT $PPID; kill -QUIT $PPID; exit 4") == 4)
                try await eventually("nobody interrupts") {
                    try await box.bridge.audioDeviceManager.interruptions().isEmpty
                }
            }
        }

        private func path(_ program: Program) -> String { program.path }

        @Test func `A later choice survives the end of a held selection`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                try await box.prefer(.none)
                _ = try await box.connect(Box.first)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                let old = try await manager.acquireSelection(.speakerphone)
                try await manager.select(first)
                old.release()
                try await box.route(first)
                let held = try await manager.acquireSelection(.earpiece)
                let later = try await manager.acquireSelection(.speakerphone)
                held.release()
                try await box.route(.speakerphone)
                #expect(try await manager.selectedAudioDevice() == .speakerphone)
                later.release()
                try await eventually("no selection is left") {
                    try await manager.selectedAudioDevice() != .speakerphone
                }
                // Selecting the same device again is a new choice.
                let same = try await manager.acquireSelection(.speakerphone)
                try await manager.select(.speakerphone)
                same.release()
                let marker = try await manager.interrupt(source: "marker")
                marker.release()
                #expect(try await manager.selectedAudioDevice() == .speakerphone)
                try await manager.stop()
                let refused = await refusal { () throws(BridgeError) in
                    _ = try await manager.acquireSelection(.earpiece)
                }
                #expect(refused?.code == .notStarted)
            }
        }

        @Test func `A program that holds too much is refused, and the refused request has no effect`() async throws {
            try await Box.run { box in
                let manager = box.bridge.audioDeviceManager
                var holds: [Hold] = []
                // Four programs, because one may hold at most 16.
                var bridges: [CallBridge] = []
                for _ in 0..<4 {
                    let bridge = try await CallBridge(bus: .address("\(box.address)"))
                    bridges.append(bridge)
                    for _ in 0..<16 { holds.append(try await bridge.audioDeviceManager.acquireSelection(.earpiece)) }
                }
                let refused = await refusal { () throws(BridgeError) in
                    _ = try await manager.acquireSelection(.speakerphone)
                }
                #expect(refused?.code == .wrongState)
                #expect(refused?.message.contains("64") == true)
                #expect(try await manager.selectedAudioDevice() == .earpiece)
                for hold in holds { hold.release() }
                try await eventually("a place is free again") {
                    await refusal { () throws(BridgeError) in
                        try await manager.acquireSelection(.speakerphone).release()
                    } == nil
                }
                for bridge in bridges { await bridge.close() }
            }
        }
    }

    @Suite @ControlPlane struct SleepTests {
        @Test func `The board sleeps after audio is closed, and the call resumes when it wakes`() async throws {
            var logind: FakeLogind?
            try await Box.run(
                prepare: { box in logind = try await FakeLogind(box.address) },
                body: { box in
                    let logind = try #require(logind)
                    defer { logind.close() }
                    try await box.prefer(.none)
                    let registration = try await box.register()
                    let call = try await box.startCall(registration)
                    try await box.playing("earpiece")
                    try await eventually("btcalld delays the sleep") { logind.isDelayed }
                    #expect(logind.requests == ["sleep|btcalld|closes the audio of calls|delay"])
                    logind.announce(true)
                    try await eventually("btcalld no longer delays the sleep") { !logind.isDelayed }
                    #expect(box.daemon.graph.isQuiet)
                    #expect(try await box.bridge.audioDeviceManager.interruptions() == ["suspend"])
                    #expect(try await box.bridge.audioDeviceManager.activeRoute() == .none)
                    #expect(logind.requests.count == 1)
                    logind.announce(true)
                    logind.announce(false)
                    try await box.playing("earpiece")
                    #expect(try await box.bridge.status().reason == "interruptionEnded")
                    #expect(try await box.bridge.calls.list().map(\.id) == [call])
                    try await eventually("btcalld delays the sleep again") { logind.isDelayed }
                    #expect(logind.requests.count == 2)
                })
        }

        @Test func `Without a call nothing delays the board's sleep`() async throws {
            try await Box.run { box in
                let logind = try await FakeLogind(box.address)
                defer { logind.close() }
                try await eventually("btcalld delays the sleep") { logind.isDelayed }
                logind.announce(true)
                try await eventually("btcalld no longer delays the sleep") { !logind.isDelayed }
            }
        }

        @Test func `btcalld works with a logind that refuses, starts late or vanishes`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                let logind = try await FakeLogind(
                    box.address, refusal: BusError(name: BusError.Name.accessDenied, message: "polkit says no"),
                    isPreparing: true)
                defer { logind.close() }
                // The lock is requested first, then whether the board is going to sleep.
                try await box.route(.none)
                #expect(logind.requests.count == 1)
                logind.close()
                try await box.route(.earpiece)
            }
        }
    }
}
