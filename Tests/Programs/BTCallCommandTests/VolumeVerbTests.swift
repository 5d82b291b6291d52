import ArgumentParser
import BTCallAPI
import BTCallJSON
import BluetoothTypes
import CommandTestSupport
import ControlLoop
import DBus
import Testing

@testable import BTCallCommand

@Suite(.timeLimit(.minutes(1))) @ControlPlane struct VolumeVerbTests {
    let bus: PrivateBus
    let daemon: FakeDaemon
    let first = BluetoothAddress(value: 0x0000_5E00_5301)
    let second = BluetoothAddress(value: 0x0000_5E00_5302)

    init() async throws {
        bus = try PrivateBus()
        daemon = try await FakeDaemon(bus.address)
    }

    /// Adds connected headsets, each with the volumes 10 of 12, 4 of 15 and 64 of 127.
    private func connect(_ headsets: [(BluetoothAddress, String)]) {
        daemon.update { state in
            state.devices = headsets.compactMap { address, name in
                guard let word = DeviceWord("bluetooth:\(address)") else { return nil }
                var device = DeviceDescription(
                    device: word, name: name, isAvailable: true, speakerVolume: 10, microphoneVolume: 4)
                device.speakerVolumeMax = 12
                device.microphoneVolumeMax = 15
                device.mediaVolume = 64
                return device
            }
        }
        for (index, headset) in headsets.enumerated() { export(headset.0, index) }
    }

    private func export(_ address: BluetoothAddress, _ index: Int) {
        func property(_ name: String, _ path: WritableKeyPath<DeviceDescription, Int?>) -> ExportedInterface.Property {
            .init(
                name, "y",
                get: { [daemon] in .byte(UInt8(clamping: daemon.router.devices[index][keyPath: path] ?? 0)) },
                set: { [daemon] value throws(BusError) in
                    let volume = value.integerValue ?? 0
                    guard name == "MicrophoneVolume" || volume <= 12 else {
                        throw APIError(.invalidArgument, "\(volume) is louder than this headset may be: 0 to 12")
                            .busError
                    }
                    daemon.update { $0.devices[index][keyPath: path] = volume }
                })
        }
        daemon.bus.export(
            [
                ExportedInterface(
                    BTCallName.Interface.headset,
                    properties: [
                        property("SpeakerVolume", \.speakerVolume), property("MicrophoneVolume", \.microphoneVolume),
                        .init(
                            "MediaVolume", "i",
                            get: { [daemon] in .int32(Int32(daemon.router.devices[index].mediaVolume ?? -1)) },
                            set: { [daemon] value in
                                daemon.update { $0.devices[index].mediaVolume = value.integerValue }
                            }),
                    ])
            ], at: BTCallPath.headset(address))
    }

    @Test func `volume lists the volumes of connected headsets`() async throws {
        #expect(try await CommandRun.btcall("volume", bus: bus).output == "no headset is connected\n")
        #expect(try await CommandRun.btcall("volume", "--json", bus: bus).array.isEmpty)
        connect([(first, "Alpha"), (second, "Beta")])
        #expect(
            try await CommandRun.btcall("volume", bus: bus).output == """
                HEADSET            NAME   SPEAKER   MICROPHONE  MEDIA
                00:00:5E:00:53:01  Alpha  10 of 12  4 of 15     64 of 127
                00:00:5E:00:53:02  Beta   10 of 12  4 of 15     64 of 127

                """)
        let run = try await CommandRun.btcall("volume", "--headset", "beta", "--json", bus: bus).array
        #expect(run.count == 1)
        #expect(
            Set(run[0].keys) == [
                "device", "name", "speakerVolume", "speakerVolumeMax", "microphoneVolume", "microphoneVolumeMax",
                "mediaVolume",
            ])
        #expect(run[0]["device"] as? String == "bluetooth:\(second)" && run[0]["speakerVolumeMax"] as? Int == 12)
    }

    @Test func `volume ROLE VALUE sets the volume of the only headset, or of the named one`() async throws {
        connect([(first, "Alpha")])
        let run = try await CommandRun.btcall("volume", "speaker", "12", bus: bus)
        #expect(run.status == 0 && run.output.hasSuffix("00:00:5E:00:53:01  Alpha  12 of 12  4 of 15     64 of 127\n"))
        let media = try await CommandRun.btcall("volume", "media", "127", "--json", bus: bus)
        #expect(media.status == 0 && media.array.first?["mediaVolume"] as? Int == 127)
        connect([(first, "Alpha"), (second, "Beta")])
        for name in ["beta", "\(second)", "bluetooth:\(second)"] {
            connect([(first, "Alpha"), (second, "Beta")])
            let run = try await CommandRun.btcall("volume", "microphone", "15", "--headset", name, "--json", bus: bus)
            #expect(run.status == 0 && run.array.count == 1, "\(name)")
            #expect(daemon.router.devices.map(\.microphoneVolume) == [4, 15])
        }
    }

    @Test(arguments: [
        (["speaker", "16"], "0 to 15"), (["speaker", "loud"], "0 to 15"),
        (["mic", "5"], "0.0 to 1.0"), (["application", "loud"], "0.0 to 1.0"),
        (["both", "5"], "speaker, microphone, media, application"), (["media", "128"], "0 to 127"),
        (["mic", "0.5", "--headset", "a"], "speaker, microphone and media"),
    ])
    func `volume names the accepted values`(words: [String], expected: String) {
        do {
            _ = try Entry.command(for: ["volume"] + words)
            Issue.record("\(words) was accepted")
        } catch {
            #expect(Entry.exitCode(for: error).rawValue == 64)
            #expect(Entry.fullMessage(for: error).contains(expected), "\(Entry.fullMessage(for: error))")
        }
    }

    @Test func `mic volume sets what the far end hears of the microphone; earlier words still work`() async throws {
        let run = try await CommandRun.btcall("mic", "volume", "0.5", bus: bus)
        #expect(run.status == 0 && run.output.contains("volume          0.5\n"), "\(run.output)")
        #expect(daemon.audioProperties["MicVolume"]?.doubleValue == 0.5)
        #expect(try await CommandRun.btcall("volume", "mic", bus: bus).output == "mic 0.5\n")
        let shown = try await CommandRun.btcall("mic", "volume", "--json", bus: bus).object
        #expect(shown["microphoneGain"] as? Double == 0.5)
        for (action, isMuted) in [("mute", true), ("unmute", false)] {
            let run = try await CommandRun.btcall("mic", action, "--json", bus: bus)
            #expect(run.object["muted"] as? Bool == isMuted && daemon.isMuted == isMuted)
        }
    }

    @Test(arguments: [
        (["volume", "5"], "0.0 to 1.0"), (["volume", "loud"], "0.0 to 1.0"), (["mode", "loud"], "voiceProcessing"),
        (["prepared", "yes"], "on or off"), (["mute", "on"], "accepts no value"), (["louder"], "- volume"),
    ])
    func `mic names the accepted values, and no earlier word`(words: [String], expected: String) {
        do {
            _ = try Entry.command(for: ["mic"] + words)
            Issue.record("\(words) was accepted")
        } catch {
            let text = Entry.fullMessage(for: error)
            #expect(Entry.exitCode(for: error).rawValue == 64)
            #expect(text.contains(expected) && !text.contains("unmute"), "\(text)")
        }
    }

    @Test func `volume asks for a headset, and prints the daemon's refusals`() async throws {
        func failure(_ arguments: String...) async throws -> String {
            let run = try await CommandRun.btcall(["volume"] + arguments, bus: bus)
            #expect(run.status == 1 && run.output.isEmpty)
            return run.errors
        }
        #expect(try await failure("speaker", "5") == "btcall: no headset is connected\n")
        connect([(first, "Alpha"), (second, "Alpha")])
        let list = "connected are \(first) (Alpha), \(second) (Alpha)"
        #expect(try await failure("speaker", "5") == "btcall: name one with --headset; \(list)\n")
        #expect(
            try await failure("speaker", "5", "--headset", "alpha")
                == "btcall: several headsets are named alpha: \(first) (Alpha), \(second) (Alpha): give the address\n")
        #expect(
            try await failure("speaker", "5", "--headset", "Gamma")
                == "btcall: there is no headset Gamma: "
                + "known are \(first) (Alpha), \(second) (Alpha)\n")
        #expect(
            try await failure("speaker", "5", "--headset", "00:00:5E:00:53:09")
                == "btcall: 00:00:5E:00:53:09 is not connected; \(list)\n")
        #expect(
            try await failure("speaker", "13", "--headset", "\(first)")
                == "btcall: 13 is louder than this headset may be: 0 to 12\n")
        // It is listed, and disappears before it is set.
        daemon.bus.unexport(path: BTCallPath.headset(first))
        #expect(
            try await failure("speaker", "5", "--headset", "\(first)") == "btcall: \(first) is not paired\n")
    }
}
