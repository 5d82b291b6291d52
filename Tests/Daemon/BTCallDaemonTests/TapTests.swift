import BTCall
import BTCallAPI
import BTCallDaemon
import CBTCall
import CallExchange
import Configuration
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

extension DaemonTests {
    @Suite @ControlPlane struct TapTests {
        private func call(_ box: Box) async throws -> (ProviderRegistration, Call.ID) {
            try await box.prefer(.none)
            let registration = try await box.register([.hold])
            let call = try await box.startCall(registration)
            try await eventually("the far end hears the microphone") {
                Tone.isHeard(in: box.telephone.exchange.takeRecorded())
            }
            return (registration, call)
        }

        private func isRecorded(_ box: Box, _ call: Call.ID) async throws -> Bool? {
            try await box.bridge.calls.list().first { $0.id == call }?.isRecorded
        }

        private func taps(_ box: Box) async throws -> [AudioStatistics.Tap] {
            let reply = try await box.client.call(
                BTCallName.bus, BTCallPath.audio, "org.freedesktop.DBus.Properties", "Get",
                [.string(BTCallName.Interface.audio), .string(BTCallName.Audio.statistics)])
            return try AudioStatistics(Fields(try #require(reply.first).unwrapped, of: "Statistics")).taps
        }

        private func hears(_ descriptor: Int32) -> Bool {
            var block = [Int16](repeating: 0, count: 160)
            var isHeard = false
            while recv(descriptor, &block, 320, Int32(MSG_DONTWAIT)) == 320 {
                if Tone.isHeard(in: block) { isHeard = true }
            }
            return isHeard
        }

        @Test func `S2.16 By default nobody may record, and attempts are reported`() async throws {
            try await Box.run { box in
                let (_, call) = try await call(box)
                let events = await EventLog(box.bridge)
                let other = try await CallBridge(bus: .address("\(box.address)"))
                let error = await refusal { () throws(BridgeError) in _ = try await other.audio.openTap(call: call) }
                #expect(error?.code == .accessDenied && error?.message.contains("[privacy] recording") == true)
                try await eventually("RecordingDenied names the call and the program") {
                    events.all.contains {
                        if case .recordingDenied(call, let client) = $0 { client.hasPrefix(":") } else { false }
                    }
                }
                #expect(try await isRecorded(box, call) == false)
                #expect(try await taps(box).isEmpty)
                await other.close()
            }
        }

        @Test func `S2.16 With allow a program records both sides, visibly, until the call has ended`() async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    let (registration, call) = try await call(box)
                    let events = await EventLog(box.bridge)
                    let local = try await box.bridge.audio.openTap(call: call, side: .local).takeDescriptor()
                    let remote = try await box.bridge.audio.openTap(call: call, side: .remote).takeDescriptor()
                    defer {
                        close(local)
                        close(remote)
                    }
                    #expect(try await isRecorded(box, call) == true)
                    try await eventually("it is signalled") { events.all.contains(.callRecordedChanged(call, true)) }
                    try await eventually("the near end is heard") { hears(local) }
                    try await eventually("the far end is heard") { hears(remote) }
                    try await eventually("blocks are counted") {
                        let taps = try await taps(box)
                        return taps.count == 2 && taps.allSatisfy { $0.blocks > 0 && !$0.owner.isEmpty }
                    }
                    // A muted microphone is not recorded either: a tap gets what the far end gets.
                    try await box.bridge.calls.setMuted(true)
                    try await eventually("the near end is silent") {
                        _ = hears(local)
                        await ControlLoop.shared.sleep(for: .milliseconds(100))
                        return !hears(local)
                    }
                    try await box.bridge.calls.setMuted(false)
                    // The tap lasts while the call is held.
                    try await registration.update(call, .held)
                    try await registration.update(call, .active)
                    _ = (hears(local), hears(remote))
                    try await eventually("the near end is heard again") { hears(local) }
                    try await eventually("the far end is heard again") { hears(remote) }
                    try await registration.update(call, .ended)
                    for descriptor in [local, remote] {
                        try await eventually("the daemon closes its end") {
                            _ = hears(descriptor)
                            var byte: UInt8 = 0
                            return recv(descriptor, &byte, 1, Int32(MSG_DONTWAIT)) == 0
                        }
                    }
                    #expect(try await taps(box).isEmpty)
                })
        }

        @Test func `S2.16 With ask the call's application or another program decides, not the recorder`() async throws {
            try await Box.run(
                configure: { $0.recording = .ask },
                body: { box in
                    let (_, call) = try await call(box)
                    let events = await EventLog(box.bridge)
                    let recorder = try await CallBridge(bus: .address("\(box.address)"))
                    @ControlPlane func requests() -> Int {
                        events.all.count { if case .recordingRequested(call, _) = $0 { true } else { false } }
                    }
                    var error = await refusal { () throws(BridgeError) in
                        try await box.bridge.audio.allowRecording(of: call)
                    }
                    #expect(error?.code == .wrongState)
                    let first = Task { @ControlPlane in try await recorder.audio.openTap(call: call) }
                    try await eventually("a client is asked") { requests() == 1 }
                    error = await refusal { () throws(BridgeError) in
                        try await recorder.audio.allowRecording(of: call)
                    }
                    #expect(error?.code == .accessDenied)
                    try await box.bridge.audio.allowRecording(of: call)
                    let descriptor = try await first.value.takeDescriptor()
                    defer { close(descriptor) }
                    try await eventually("the call is heard") { hears(descriptor) }

                    let second = Task { @ControlPlane in
                        await refusal { () throws(BridgeError) in _ = try await recorder.audio.openTap(call: call) }
                    }
                    try await eventually("a client is asked again") { requests() == 2 }
                    try await box.bridge.audio.allowRecording(of: call, false)
                    #expect(await second.value?.code == .accessDenied)
                    // The answer and the event reach different connections, in either order.
                    try await eventually("it is reported") {
                        events.all.contains { if case .recordingDenied = $0 { true } else { false } }
                    }
                    // The application that owns the call allows its own request.
                    let own = Task { @ControlPlane in try await box.bridge.audio.openTap(call: call) }
                    try await eventually("a client is asked once more") { requests() == 3 }
                    try await box.bridge.audio.allowRecording(of: call)
                    let ownDescriptor = try await own.value.takeDescriptor()
                    #expect(ownDescriptor >= 0)
                    close(ownDescriptor)
                    await recorder.close()
                })
        }

        @Test func `S2.16 A request without an answer is denied, and ends with the call`() async throws {
            try await Box.run(
                configure: {
                    $0.recording = .ask
                    $0.timeouts.recording = .milliseconds(50)
                },
                body: { box in
                    let (registration, call) = try await call(box)
                    let events = await EventLog(box.bridge)
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.audio.openTap(call: call)
                    }
                    #expect(error?.code == .accessDenied && error?.message.contains("AllowRecording") == true)
                    try await eventually("it is reported") {
                        events.all.contains { if case .recordingDenied = $0 { true } else { false } }
                    }
                    try await registration.update(call, .ended)
                    let late = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.audio.openTap(call: call)
                    }
                    #expect(late?.code == .noSuchCall)
                })
            try await Box.run(
                configure: { $0.recording = .ask },
                body: { box in
                    let (registration, call) = try await call(box)
                    let events = await EventLog(box.bridge)
                    let asked = Task { @ControlPlane in
                        await refusal { () throws(BridgeError) in _ = try await box.bridge.audio.openTap(call: call) }
                    }
                    try await eventually("a client is asked") {
                        events.all.contains { if case .recordingRequested = $0 { true } else { false } }
                    }
                    try await registration.update(call, .ended)
                    #expect(await asked.value?.code == .noSuchCall)
                })
        }

        @Test func `S2.16 A change to deny ends running recordings`() async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    let (_, call) = try await call(box)
                    let descriptor = try await box.bridge.audio.openTap(call: call).takeDescriptor()
                    defer { close(descriptor) }
                    try await eventually("the call is heard") { hears(descriptor) }
                    try await box.bridge.setSetting("privacy.recording", to: "deny")
                    try await eventually("nobody records") { try await isRecorded(box, call) == false }
                    try await box.bridge.setSetting("privacy.recording", to: "allow")
                    close(try await box.bridge.audio.openTap(call: call).takeDescriptor())
                    try await eventually("the closed tap has ended") { try await isRecorded(box, call) == false }
                })
        }

        @Test func `Invalid requests of a recorder are refused`() async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    let (_, call) = try await call(box)
                    func name(_ options: [String: Value]) async -> String? {
                        await box.error(
                            BTCallPath.audio, BTCallName.Interface.audio, BTCallName.Audio.openTap,
                            [.objectPath(BTCallPath.call(call.description)), .vardict(options)])
                    }
                    let invalid = APIError(.invalidArgument, "").name
                    #expect(await name(["side": "far"]) == invalid)
                    #expect(await name(["side": "local", "channels": .uint32(2)]) == invalid)
                    #expect(await name(["rate": .uint32(11_025)]) == invalid)
                    var held: [AudioTap] = []
                    let second = try await CallBridge(bus: .address("\(box.address)"))
                    for _ in 1...4 { held.append(try await box.bridge.audio.openTap(call: call)) }
                    let error = await refusal { () throws(BridgeError) in
                        _ = try await box.bridge.audio.openTap(call: call)
                    }
                    #expect(error?.code == .wrongState && error?.message.contains("the most for one program") == true)
                    for _ in 1...4 { held.append(try await second.audio.openTap(call: call)) }
                    #expect(await name([:]) == APIError(.wrongState, "").name)
                    held.removeAll()
                    try await eventually("their places are free again") { await name([:]) == nil }
                    await second.close()
                })
        }

        // MARK: btcall record

        private func file() -> String {
            FileManager.default.temporaryDirectory.appending(path: "btcall-\(UUID().uuidString).wav").path()
        }

        private func size(_ file: String) -> Int {
            (try? FileManager.default.attributesOfItem(atPath: file)[.size] as? Int) ?? 0
        }

        @Test func `btcall record records for the given time, and in stereo`() async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    _ = try await call(box)
                    let file = file()
                    defer { try? FileManager.default.removeItem(atPath: file) }  // It may stay.
                    let program = try Program(box.address)
                    let mono = try await program("record", file, "--seconds", "1")
                    #expect(mono.status == 0 && mono.text.contains("recorded 1.0 s"), "\(mono.text)")
                    let wave = try WaveFile(path: file)
                    #expect(wave.rate == 16_000 && wave.samples.count == 16_000 && Tone.isHeard(in: wave.samples))
                    let stereo = try await program("record", file, "--seconds", "1", "--side", "stereo", "--json")
                    #expect(stereo.status == 0 && stereo.text.contains("\"complete\""), "\(stereo.text)")
                    #expect(size(file) == 44 + 64_000)
                    #expect(try WaveFile(path: file).samples.count == 16_000)
                })
        }

        @Test(arguments: [true, false])
        func `btcall record leaves a file with correct sizes when the call ends and when it is stopped`(
            isStopped: Bool
        ) async throws {
            try await Box.run(
                configure: { $0.recording = .allow },
                body: { box in
                    let (registration, call) = try await call(box)
                    let file = file()
                    defer { try? FileManager.default.removeItem(atPath: file) }  // It may stay.
                    let program = try Program(box.address)
                    let command = "\"$0\" record \"$1\" & echo $! >\"$1.pid\"; wait $!"
                    let run = Task { @ControlPlane in
                        try await ControlLoop.shared.run(
                            [
                                "/bin/sh", "-c", "export BTCALL_BUS=\"$2\"; \(command)", program.path, file,
                                "\(box.address)",
                            ])
                    }
                    try await eventually("something is in the file") { size(file) > 20_000 }
                    if isStopped {
                        let text = try String(contentsOfFile: file + ".pid", encoding: .utf8)
                        kill(try #require(pid_t(text.filter(\.isNumber))), SIGTERM)
                    } else {
                        try await registration.update(call, .ended)
                    }
                    #expect(try await run.value == 0)
                    try? FileManager.default.removeItem(atPath: file + ".pid")  // It may stay.
                    let bytes = try Data(contentsOf: URL(filePath: file))
                    func number(_ offset: Int) -> Int {
                        (0..<4).reduce(0) { $0 | Int(bytes[offset + $1]) << (8 * $1) }
                    }
                    #expect(number(4) == bytes.count - 8 && number(40) == bytes.count - 44)
                    #expect(Tone.isHeard(in: try WaveFile(path: file).samples))
                })
        }

        @Test func `btcall record reports a refusal, and answers requests of others`() async throws {
            try await Box.run { box in
                _ = try await call(box)
                let program = try Program(box.address)
                let file = file()
                let denied = try await program("record", file)
                #expect(denied.status == 1 && denied.text.contains("[privacy] recording"), "\(denied.text)")
                #expect(size(file) == 0)
                let idle = try await program("record", "--allow")
                #expect(idle.status == 1 && idle.text.contains("nobody asks"), "\(idle.text)")
                try await box.bridge.setSetting("privacy.recording", to: "ask")
                defer { try? FileManager.default.removeItem(atPath: file) }  // It may stay.
                let events = await EventLog(box.bridge)
                let run = Task { @ControlPlane in try await program("record", file, "--seconds", "1") }
                try await eventually("a client is asked") {
                    events.all.contains { if case .recordingRequested = $0 { true } else { false } }
                }
                let allowed = try await program("record", "--allow")
                #expect(allowed.status == 0 && allowed.text.contains("may be recorded"), "\(allowed.text)")
                #expect(try await run.value.status == 0)
                #expect(size(file) == 44 + 32_000)
            }
        }
    }
}
