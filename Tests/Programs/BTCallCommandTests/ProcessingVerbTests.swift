import ArgumentParser
import BTCall
import BTCallAPI
import BTCallDaemon
import CommandTestSupport
import ControlLoop
import DBus
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct VoiceVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon
    let voice: FakeVoice

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
        voice = FakeVoice(daemon.bus)
    }

    private func run(_ arguments: String...) async throws -> CommandRun {
        try await CommandRun.btcall(["voice"] + arguments, bus: bus)
    }

    @Test func `processing shows the microphone's processing`() async throws {
        voice.flags["AutomaticGain"] = false
        #expect(
            try await run().output == """
                Processing  by webrtc
                Bypass      off
                Echo        on
                Noise       on
                Gain        off
                High pass   on

                """)
        let object = try await run("--json").object
        #expect(object["enabled"] as? Bool == true && object["processor"] as? String == "webrtc")
        #expect(object["bypassed"] as? Bool == false && object["gain"] as? Bool == false)
        #expect(object["echo"] as? Bool == true && object["noise"] as? Bool == true)
        #expect(object["highpass"] as? Bool == true && object.count == 7)
    }

    @Test(arguments: [
        (["off"], "VoiceProcessing", false), (["bypass", "on"], "VoiceProcessingBypassed", true),
        (["echo", "off"], "EchoCancellation", false), (["noise", "off"], "NoiseSuppression", false),
        (["gain", "off"], "AutomaticGain", false), (["highpass", "off"], "HighPass", false),
    ])
    func `processing sets one thing and shows the result`(
        _ words: [String], _ property: String, _ value: Bool
    ) async throws {
        let before = voice.flags
        let result = try await CommandRun.btcall(["voice"] + words, bus: bus)
        #expect(result.status == 0 && voice.flags[property] == value)
        #expect(voice.flags.filter { $0.value != before[$0.key] }.map(\.key) == [property])
        if words == ["off"] { #expect(result.output.hasPrefix("Processing  off\n")) }
    }

    @Test(arguments: [
        (["perhaps"], "accepted: on, off, bypass"),
        (["gain", "5"], "gain accepts on or off, not 5"), (["on", "off"], "off is not accepted after on"),
    ])
    func `processing refuses unknown words`(_ words: [String], _ text: String) throws {
        let error = #expect(throws: (any Error).self) { _ = try Entry.command(for: ["voice"] + words) }
        let refusal = try #require(error)
        #expect(Entry.exitCode(for: refusal).rawValue == 64)
        #expect(Entry.message(for: refusal).contains(text), "\(Entry.message(for: refusal))")
    }

    @Test func `processing says why it cannot be enabled`() async throws {
        voice.refusal = "the setting audio.voiceProcessing is none"
        let result = try await run("on")
        #expect(result.status == 1 && result.errors.contains("audio.voiceProcessing is none"))
    }
}

/// The part of `org.btcall.Audio1` for the verb.
@ControlPlane
final class FakeVoice {
    var flags = [
        "VoiceProcessing": true, "VoiceProcessingBypassed": false, "EchoCancellation": true, "NoiseSuppression": true,
        "AutomaticGain": true, "HighPass": true,
    ]
    var refusal: String?

    init(_ bus: BusConnection) {
        bus.export(
            [
                ExportedInterface(
                    BTCallName.Interface.audio,
                    properties: [
                        .init("VoiceProcessor", "s") { [weak self] in
                            .string(self?.flags["VoiceProcessing"] == true ? "webrtc" : "none")
                        }
                    ]
                        + flags.keys.sorted().map { name in
                            .init(
                                name, "b", get: { [weak self] in .bool(self?.flags[name] ?? false) },
                                set: { [weak self] value throws(BusError) in
                                    if let refusal = self?.refusal {
                                        throw APIError(.wrongState, refusal).busError
                                    }
                                    self?.flags[name] = value.boolValue
                                })
                        })
            ], at: BTCallPath.audio)
    }
}
