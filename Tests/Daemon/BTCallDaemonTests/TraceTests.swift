import BTCall
import BTCallBench
import BTCallSimulator
import CallExchange
import ControlLoop
import DBus
import Foundation
import TestSupport
import Testing

/// The program `btcalld` that was built with these tests, with a trace of every file that it opens.
@ControlPlane
private final class TracedDaemon {
    let bus: FakeBlueZBus
    private let process = Process()
    private let folder: URL

    /// - Parameter configuration: the text of the file.
    init(_ configuration: String) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "btcall-trace-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        // Run-time settings are stored there, and not kept for the next test.
        let text = "[daemon]\nstateDirectory = \(folder.path())/state\n" + configuration
        try text.write(to: folder.appending(path: "conf"), atomically: true, encoding: .utf8)
        bus = try FakeBlueZBus(rules: "")
        let directory = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = directory.appending(path: "btcalld").path()
        try #require(FileManager.default.isExecutableFile(atPath: program), "\(program) is not built")
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments = [
            "-c",
            """
            cd "$1" && exec strace -f -qq -e trace=open,openat,openat2 -o trace \
            /bin/sh -c 'echo $$ >pid; exec "$@" >log 2>&1' sh "$2" --bus "$3" --config conf --foreground
            """, "sh", folder.path(), program, "\(bus.address)",
        ]
        try process.run()
    }

    /// The number of openings of sound devices so far, failed ones included. Actions before the daemon's last answer are
    /// counted: strace writes a call down before the program continues.
    func soundOpens() throws -> Int { try lines().count { $0.contains("\"/dev/snd") } }

    func lines() throws -> [Substring] {
        try String(contentsOf: folder.appending(path: "trace"), encoding: .utf8).split(separator: "\n")
    }

    func stop() {
        let text = try? String(contentsOf: folder.appending(path: "pid"), encoding: .utf8)  // It may not have begun.
        if let identifier = text.flatMap({ pid_t($0.filter(\.isNumber)) }) { kill(identifier, SIGTERM) }
        process.waitUntilExit()
        bus.stop()
        try? FileManager.default.removeItem(at: folder)  // A folder in the temporary directory may stay.
    }
}

extension DaemonTests {
    /// The files that the real program opens; needs strace.
    @Suite @ControlPlane struct TraceTests {
        private static let devices = """
            [device speakerphone]
            playback = hw:0,0
            capture = hw:0,0
            mixer = Master
            [device wiredHeadset]
            playback = hw:1,0
            capture = hw:1,0

            """

        private func run(
            _ configuration: String, _ body: (TracedDaemon, CallBridge) async throws -> Void
        ) async throws {
            let daemon = try TracedDaemon(configuration)
            let bridge = try await CallBridge(bus: .address("\(daemon.bus.address)"))
            let result: Result<Void, any Error>
            do {
                // It starts slowly under a tracer.
                try await eventually("btcalld answers", within: .seconds(30)) { (try? await bridge.status()) != nil }
                try await body(daemon, bridge)
                result = .success(())
            } catch {
                result = .failure(error)
            }
            await bridge.close()
            daemon.stop()
            try result.get()
        }

        /// A call that a program renders: both ends hear each other, the microphone is enabled and the hardware refreshed.
        ///
        /// - Parameter check: runs before the program ends rendering.
        private func exchange(
            _ bridge: CallBridge, _ audio: ManualAudio, _ check: () throws -> Void
        ) async throws {
            let telephone = Telephone()
            let registration = try await bridge.register(telephone, as: .init(name: "test"))
            let call = try await registration.reportOutgoing(number: "+4930123456")
            try await registration.update(call, .active)
            let renderer = Renderer(audio)
            try renderer.start()
            for isEnabled in ["false", "true"] {
                try await bridge.setSetting("routing.microphoneEnabled", to: isEnabled)
            }
            try await bridge.calls.setMuted(true)
            try await bridge.calls.setMuted(false)
            try await bridge.audioDeviceManager.refreshSpeakerphoneSetting()
            var farEnd: [Int16] = []
            try await eventually("the far end hears the bytes that were written") {
                farEnd += telephone.exchange.takeRecorded()
                return Renderer.isHeard(in: farEnd)
            }
            try await eventually("the program hears the call") { Tone.isHeard(in: renderer.heard) }
            try check()
            try await registration.update(call, .ended)
            try check()
            telephone.exchange.stop()
            renderer.end()
        }

        @Test
        func `S1.19 S1.20 The program opens no sound device during manual rendering, only before and after`()
            async throws
        {
            try await run(Self.devices) { daemon, bridge in
                let atStart = try daemon.soundOpens()
                #expect(atStart > 0)
                try await bridge.audioDeviceManager.refreshSpeakerphoneSetting()
                let before = try daemon.soundOpens()
                #expect(before > atStart)
                let audio = try await bridge.audio.openManual()
                let between = try daemon.soundOpens()
                try await exchange(bridge, audio) {
                    let opens = try daemon.soundOpens()
                    #expect(opens == between)
                }
                try await eventually("devices are looked at again") {
                    try await bridge.audioDeviceManager.refreshSpeakerphoneSetting()
                    return try daemon.soundOpens() > between
                }
            }
        }

        @Test func `S1.19 With manualRendering in the configuration the program never opens a sound device`()
            async throws
        {
            try await run("[routing]\nmanualRendering = true\n" + Self.devices) { daemon, bridge in
                try await exchange(bridge, try await bridge.audio.openManual()) {
                    let opens = try daemon.soundOpens()
                    #expect(opens == 0)
                }
                try await bridge.audioDeviceManager.refreshSpeakerphoneSetting()
                #expect(try daemon.soundOpens() == 0)
                #expect(try daemon.lines().count > 10)
                // There was a device to open.
                try await bridge.setSetting("routing.manualRendering", to: "false")
                try await eventually("devices are looked at") { try daemon.soundOpens() > 0 }
            }
        }
    }
}
