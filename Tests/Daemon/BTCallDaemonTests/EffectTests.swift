import AudioPaths
import BTCall
import BTCallBench
import BTCallDaemon
import CBTCall
import ControlLoop
import Glibc
import Routing
import Synchronization
import TestSupport
import Testing

/// Sound cards that record the requested period when they are opened.
@ControlPlane
private final class PeriodPaths: PathOpening {
    private let paths: any PathOpening
    private var period = 0
    private(set) var opened: [(LocalDevice, period: Int)] = []

    init(_ paths: any PathOpening) { self.paths = paths }

    func openPath(_ kind: LocalDevice) throws(PathError) -> OpenPath {
        opened.append((kind, period))
        return try paths.openPath(kind)
    }

    func absence(of kind: LocalDevice) -> PathError? { paths.absence(of: kind) }
    func setPeriod(_ milliseconds: Int) { period = milliseconds }
}

/// An application that accepts its audio and sends nothing.
private final class SilentApplication: CallProvider {
    private let descriptors = Mutex<[Int32]>([])

    func performAnswer(_ call: Call.ID) async throws(ProviderRefusal) {}
    func performEnd(_ call: Call.ID, reason: String) async throws(ProviderRefusal) {}
    func audioReady(_ call: Call.ID, _ audio: AudioSocket) async {
        let descriptor = audio.takeDescriptor()
        descriptors.withLock { $0.append(descriptor) }
    }

    /// The number of calls that have had audio.
    var calls: Int { descriptors.withLock(\.count) }

    /// Takes the waiting blocks from the latest call's socket, and returns how many of them are silent: those sent ahead.
    /// An application that does not answer gets the microphone's as well, a second later.
    func takeBlocks() -> Int {
        descriptors.withLock { descriptors in
            var count = 0
            var block = [UInt8](repeating: 0, count: 4_096)
            guard let descriptor = descriptors.last else { return 0 }
            while case let bytes = recv(descriptor, &block, block.count, Int32(MSG_DONTWAIT)), bytes > 0 {
                if block[..<bytes].allSatisfy({ $0 == 0 }) { count += 1 }
            }
            return count
        }
    }

    deinit { descriptors.withLock { for descriptor in $0 { close(descriptor) } } }
}

extension DaemonTests {
    /// The time of each key's effect: as `btcall config` shows it, and in reality.
    @Suite @ControlPlane struct EffectTests {
        private func effect(_ box: Box, _ key: String) async throws -> Setting.Effect {
            try #require(try await box.bridge.settings().first { $0.key == key }).effect
        }

        @Test func `S1.26 btcall config shows when each key takes effect, and keys that need a restart cannot be set`()
            async throws
        {
            try await Box.run { box in
                let settings = try await box.bridge.settings()
                let words: [Setting.Effect: String] = [
                    .now: "at once", .reopen: "on reopening", .nextCall: "next call", .restart: "restart",
                ]
                #expect(Set(settings.map(\.effect)) == Set(words.keys))
                let printed = try await Program(box.address)("config")
                #expect(printed.status == 0)
                let lines = printed.text.split(separator: "\n")
                for setting in settings {
                    let line = lines.first { $0.split(separator: " ").first.map(String.init) == setting.key }
                    let word = try #require(words[setting.effect])
                    #expect(line?.contains("  \(word)") == true, "\(setting.key): \(line ?? "")")
                    let error = await refusal { () throws(BridgeError) in
                        try await box.bridge.setSetting(setting.key, to: setting.value)
                    }
                    #expect((error?.code == .notSupported) == (setting.effect == .restart), "\(setting.key)")
                    #expect(error == nil || setting.effect == .restart, "\(setting.key): \(error?.message ?? "")")
                }
            }
        }

        @Test func `S1.26 audio.periodMilliseconds applies when a card is next opened, not to the open one`()
            async throws
        {
            try await Box.run(through: PeriodPaths.init) { box, paths in
                #expect(try await effect(box, "audio.periodMilliseconds") == .reopen)
                try await box.prefer(.none)
                let registration = try await box.register()
                _ = try await box.startCall(registration)
                try await box.route(.earpiece)
                try await box.playing("earpiece")
                try await box.bridge.setSetting("audio.periodMilliseconds", to: "20")
                try await box.playing("earpiece")
                #expect(paths.opened.map(\.period) == [10])
                try await box.bridge.audioDeviceManager.select(.speakerphone)
                try await box.playing("speakerphone")
                #expect(paths.opened.map(\.period) == [10, 20])
            }
        }

        @Test func `S1.26 audio.callQueueBlocks applies from the next call`() async throws {
            try await Box.run { box in
                #expect(try await effect(box, "audio.callQueueBlocks") == .nextCall)
                try await box.prefer(.none)
                let application = SilentApplication()
                let registration = try await box.bridge.register(application, as: .init(name: "silent"))
                let before = try await box.startCall(registration)
                var blocks = 0
                try await eventually("the first call has what is under way") {
                    blocks += application.takeBlocks()
                    return blocks >= 3
                }
                #expect(blocks == 3)
                try await box.bridge.setSetting("audio.callQueueBlocks", to: "5")
                #expect(application.calls == 1)
                try await registration.update(before, .ended)
                _ = try await box.startCall(registration)
                try await eventually("the next call has audio") { application.calls == 2 }
                blocks = 0
                try await eventually("the next call has more under way") {
                    blocks += application.takeBlocks()
                    return blocks >= 5
                }
                #expect(blocks == 5)
            }
        }

        @Test func `S1.26 Keys with immediate effect apply during a call`() async throws {
            try await Box.run { box in
                try await box.prefer(.none)
                let registration = try await box.register()
                let call = try await box.startCall(registration)
                try await box.route(.earpiece)
                for key in ["routing.exclude", "routing.manualRendering", "routing.manualAudio", "privacy.recording"] {
                    #expect(try await effect(box, key) == .now, "\(key)")
                }
                try await box.bridge.setSetting("routing.exclude", to: "earpiece")
                try await box.route(.speakerphone)
                try await box.bridge.setSetting("routing.manualRendering", to: "true")
                try await box.route(.none)
                try await box.bridge.setSetting("routing.manualRendering", to: "false")
                try await box.route(.speakerphone)
                try await box.bridge.setSetting("routing.manualAudio", to: "true")
                try await box.route(.none)
                try await box.bridge.resetSetting("routing.manualAudio")
                try await box.route(.speakerphone)
                let error = await refusal { () throws(BridgeError) in
                    _ = try await box.bridge.audio.openTap(call: call)
                }
                #expect(error?.code == .accessDenied)
                try await box.bridge.setSetting("privacy.recording", to: "allow")
                _ = try await box.bridge.audio.openTap(call: call)
            }
        }

        @Test func `S1.25 Each bridge uses the audio of its own daemon only`() async throws {
            try await Box.run { one in
                try await Box.run { other in
                    try await one.bridge.audio.setMicrophoneVolume(0.25)
                    #expect(try await one.bridge.audio.microphoneVolume() == 0.25)
                    #expect(try await other.bridge.audio.microphoneVolume() == 1)
                    // A second connection to the daemon uses the same audio.
                    let second = try await CallBridge(bus: .address("\(one.address)"))
                    #expect(try await second.audio.microphoneVolume() == 0.25)
                    try await second.audio.setMicrophoneVolume(0.5)
                    #expect(try await one.bridge.audio.microphoneVolume() == 0.5)
                    // Closing it does not affect the other one.
                    await second.close()
                    try await one.bridge.audio.setMicrophoneVolume(1)
                    #expect(try await one.bridge.audio.microphoneVolume() == 1)
                    #expect(try await other.bridge.audio.muteMode() == .voiceProcessing)
                }
            }
        }
    }
}
