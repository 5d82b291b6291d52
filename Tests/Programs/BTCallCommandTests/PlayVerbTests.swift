import BTCallAPI
import CallExchange
import CommandTestSupport
import ControlLoop
import DBus
import Foundation
import Glibc
import TestSupport
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct PlayVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon
    let audio: FakeAudio
    let call: String
    let file: String

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        audio = FakeAudio(daemon.bus)
        call = daemon.addCall(
            CallDescription(
                id: "7ba7b810-9dad-11d1-80b4-00c04fd430c8", state: .active, direction: .outgoing, provider: "phone",
                index: 1))
        file = NSTemporaryDirectory() + "btcall-play-\(UUID().uuidString).wav"
        var writer = try WaveWriter(path: file, rate: 8000)
        // A quarter of a second and a partial block.
        try writer.append((0..<2030).map { Int16($0) })
    }

    private func playing(_ arguments: String...) -> Task<CommandRun, any Error> {
        let (bus, file) = (bus, file)
        return Task { @ControlPlane in try await CommandRun.btcall(["play", file] + arguments, bus: bus) }
    }

    @Test func `play writes the file in blocks of 10 ms, and ends when the daemon closes its end`() async throws {
        let run = playing("--json")
        try await audio.play(blocks: 26)
        #expect(audio.taken == (0..<2030).map { Int16($0) })
        let options = Fields(audio.options, of: "options")
        #expect(try AudioFormat(options: options) == AudioFormat(rate: 8000))
        #expect(try options.bool("stream") == false)
        audio.close()
        let result = try await run.value
        #expect(result.status == 0 && result.object["complete"] as? Bool == true)
        #expect(result.object["playedMilliseconds"] as? Int == 253)
        #expect(try JSONPage().mistakes(in: result.object, "Played", at: "play").isEmpty)
    }

    @Test func `play to a page needs no call, and passes its options`() async throws {
        daemon.end(call, reason: "remoteHangUp")
        let run = playing("--to", "page", "--priority", "8", "--duck=-20", "--alone")
        try await audio.play(blocks: 26)
        #expect(audio.taken == (0..<2030).map { Int16($0) })
        #expect(audio.method == "OpenPlayback")
        let options = Fields(audio.options, of: "options")
        let request = PlaybackRequest(.page, priority: 8, duckDecibels: -20, isMixable: false)
        #expect(try PlaybackRequest(options: options) == request)
        audio.close()
        let result = try await run.value
        #expect(result.status == 0)
    }

    @Test func `play ends with the call`() async throws {
        let run = playing()
        try await audio.play(blocks: 1)
        daemon.end(call, reason: "remoteHangUp")
        let result = try await run.value
        #expect(result.status == 1 && result.output.isEmpty)
        #expect(result.errors.contains("the call ended after"), "\(result.errors)")
    }

    @Test func `play reports that the daemon closed its descriptor`() async throws {
        let run = playing("--json")
        try await audio.play(blocks: 1)
        audio.close()
        let result = try await run.value
        #expect(result.status == 1 && result.object["complete"] as? Bool == false)
        #expect(result.errors.contains("`journalctl -u btcalld` says why"), "\(result.errors)")
    }

    @Test func `play reports that the daemon has gone`() async throws {
        let run = playing()
        try await audio.play(blocks: 1)
        daemon.close()
        let result = try await run.value
        #expect(result.status == 3)
        #expect(result.errors.contains("`systemctl status btcalld` says why"), "\(result.errors)")
    }

    @Test func `play waits while the call is held, and says so`() async throws {
        let run = playing()
        try await audio.play(blocks: 2)
        let reads = daemon.stateReads
        daemon.change(call, .held)
        try await eventually("it has asked for the calls") { daemon.stateReads > reads }
        daemon.change(call, .active)
        try await audio.play(blocks: 24)
        audio.close()
        let result = try await run.value
        #expect(result.status == 0)
        #expect(result.errors == "btcall: the call is held: playback continues when it is resumed\n")
    }

    @Test func `play refuses a file that is not a WAV file, and to play without a call`() async throws {
        var result = try await CommandRun.btcall("play", "/nonexistent.wav", bus: bus)
        #expect(result.status == 1 && result.errors == "btcall: /nonexistent.wav: No such file or directory\n")
        daemon.change(call, .held)
        result = try await playing().value
        #expect(result.status == 1 && result.errors.contains("there is no active call"))
        #expect(audio.options.isEmpty)
    }

    @Test func `volume mic and application show and set the audio to the far end`() async throws {
        #expect(try await CommandRun.btcall("volume", "mic", "0.5", bus: bus).output == "mic 0.5\n")
        #expect(try await CommandRun.btcall("volume", "application", "0", bus: bus).output == "application 0.0\n")
        #expect(audio.volumes == ["MicVolume": 0.5, "AppVolume": 0])
        let shown = try await CommandRun.btcall("volume", "mic", "--json", bus: bus).object
        #expect(shown["microphoneGain"] as? Double == 0.5 && shown["applicationGain"] as? Double == 0)
    }
}

/// `org.btcall.Audio1` with a far end that plays at the speed of the test.
@ControlPlane
final class FakeAudio {
    /// Options of the latest request.
    private(set) var options: [String: Value] = [:]
    private(set) var taken: [Int16] = []
    /// The method of the latest request.
    private(set) var method = ""
    private(set) var volumes = ["MicVolume": 1.0, "AppVolume": 1.0]
    private var descriptor: Int32 = -1

    init(_ bus: BusConnection) {
        bus.export(
            [
                ExportedInterface(
                    BTCallName.Interface.audio,
                    methods: ["OpenInjection", "OpenPlayback"].map { name in
                        .init(name, in: [("options", "a{sv}")], out: [("audio", "h")]) {
                            [weak self] call throws(BusError) in
                            guard let self else { throw .failed("the test has ended") }
                            method = name
                            return [.unixDescriptor(open(call.arguments[0]))]
                        }
                    },
                    properties: ["MicVolume", "AppVolume"].map { name in
                        .init(
                            name, "d", get: { [weak self] in .double(self?.volumes[name] ?? 0) },
                            set: { [weak self] value in self?.volumes[name] = value.doubleValue })
                    })
            ], at: BTCallPath.audio)
    }

    isolated deinit { close() }

    private func open(_ options: Value) -> PassedDescriptor {
        close()
        self.options = options.vardictValue ?? [:]
        taken = []
        var ends: [Int32] = [-1, -1]
        _ = socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends)
        // About four blocks of 160 bytes are written ahead.
        var size: Int32 = 1
        _ = setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        descriptor = ends[0]
        return PassedDescriptor(taking: ends[1])
    }

    /// Plays this many blocks; waits for them.
    func play(blocks: Int) async throws {
        var left = blocks
        var block = [Int16](repeating: 0, count: 480)
        while left > 0 {
            let count = descriptor < 0 ? -1 : recv(descriptor, &block, 960, Int32(MSG_DONTWAIT))
            if count > 0 {
                taken += block.prefix(count / 2)
                left -= 1
            } else {
                await ControlLoop.shared.sleep(for: .milliseconds(5))
                try Task.checkCancellation()
            }
        }
    }

    func close() {
        guard descriptor >= 0 else { return }
        _ = Glibc.close(descriptor)
        descriptor = -1
    }
}
