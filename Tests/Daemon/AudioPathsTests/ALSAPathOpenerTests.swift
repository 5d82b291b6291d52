import ALSA
import AudioEngine
import AudioPaths
import Configuration
import ControlLoop
import Foundation
import Routing
import Testing

@Suite(.serialized) @ControlPlane struct ALSAPathOpenerTests {
    @Test func `headphones without a microphone use the board's microphone`() throws {
        var configuration = Configuration()
        configuration.localDevices = [
            .wiredHeadset: .init(playback: "null", capture: "null"),
            .speakerphone: .init(playback: "null", capture: "plug:null"),
        ]
        let paths = ALSAPathOpener(configuration: configuration)
        func capture() throws -> Bool {
            let path = try paths.openPath(.wiredHeadset)
            defer { path.close() }
            return path.summary.contains("plug:null")
        }
        #expect(try !capture())
        #expect(!paths.setWiredMicrophone(true))
        #expect(paths.setWiredMicrophone(false))
        #expect(try capture())
        #expect(!paths.setWiredMicrophone(false))
        #expect(paths.setWiredMicrophone(true))
        #expect(try !capture())
        // A card that cannot record uses the board's microphone, whatever the socket reports.
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: nil)
        let path = try ALSAPathOpener(configuration: configuration).openPath(.wiredHeadset)
        #expect(path.summary.contains("plug:null"))
        path.close()
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: "null")
        // Without another microphone nothing changes.
        configuration.localDevices[.speakerphone] = nil
        #expect(!ALSAPathOpener(configuration: configuration).setWiredMicrophone(false))
    }

    @Test func `headphones are present if the microphone that they use is present`() {
        var configuration = Configuration()
        configuration.localDevices = [
            .wiredHeadset: .init(playback: "null", capture: nil),
            .speakerphone: .init(playback: "null", capture: "hw:Nowhere"),
        ]
        let error = ALSAPathOpener(configuration: configuration).absence(of: .wiredHeadset)
        #expect(error?.what.contains("hw:Nowhere") == true)
        configuration.localDevices[.speakerphone] = .init(playback: "null", capture: "null")
        #expect(ALSAPathOpener(configuration: configuration).absence(of: .wiredHeadset) == nil)
    }

    @Test func `the error of a separate ring device that cannot be opened names its own key`() throws {
        let paths = ALSAPathOpener(configuration: Configuration())
        // The first device is missing, the second is not a valid name.
        for name in ["hw:Nowhere", "hw:NOTHING=1"] {
            let error = #expect(throws: PathError.self) { try paths.openOutput(.pcm(name)) }
            #expect(error?.remedy.contains("[ring] playback") == true, "\(name): \(error?.description ?? "")")
            #expect(error?.remedy.contains("speakerphone") == false && error?.remedy.contains("aplay -L") == true)
        }
    }

    @Test(arguments: [("null", nil), (nil, "null"), ("null", "null")] as [(String?, String?)])
    func `a device with one direction can carry a call`(playback: String?, capture: String?) throws {
        var configuration = Configuration()
        configuration.localDevices = [.earpiece: .init(playback: playback, capture: capture)]
        let path = try ALSAPathOpener(configuration: configuration).openPath(.earpiece)
        defer { path.close() }
        let engine = try AudioEngine()
        try engine.addTerminal(1, path.terminal)
        engine.stop()
    }

    @Test func `S3.5 with mixWithOthers a card is opened by dmix and dsnoop, otherwise by its own name`() throws {
        ALSAEnvironment.prepare()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).conf").path
        // Cards that the host does not have.
        let plugin = "{ @args [ CARD DEV ] @args.CARD { type string } @args.DEV { type integer } type null }"
        try ["hw", "dmix", "dsnoop"].map { "pcm.!\($0) \(plugin)\n" }.joined()
            .write(toFile: path, atomically: true, encoding: .utf8)
        setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf:\(path)", 1)
        defer {
            unsetenv("ALSA_CONFIG_PATH")
            try? FileManager.default.removeItem(atPath: path)
        }
        var configuration = Configuration()
        configuration.localDevices = [.earpiece: .init(playback: "hw:7,0", capture: "hw:Card,1")]
        let opener = ALSAPathOpener(configuration: configuration)
        func summary() throws -> String {
            let path = try opener.openPath(.earpiece)
            defer { path.close() }
            return path.summary
        }
        #expect(try summary().hasPrefix("hw:7,0 "))
        #expect(try summary().contains(", hw:Card,1 "))
        opener.setMixing(true)
        #expect(try summary().hasPrefix("plug:SLAVE='dmix:CARD=7,DEV=0' "))
        #expect(try summary().contains(", plug:SLAVE='dsnoop:CARD=Card,DEV=1' "))
        let output = try opener.openOutput(.local(.earpiece))
        #expect(output.summary.hasPrefix("plug:SLAVE='dmix:CARD=7,DEV=0' "))
        output.close()
    }

    @Test func `a device that rings is present, although it cannot be opened a second time`() throws {
        ALSAEnvironment.prepare()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).conf").path
        try "pcm.horn { type null }\n".write(toFile: path, atomically: true, encoding: .utf8)
        setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf:\(path)", 1)
        defer {
            unsetenv("ALSA_CONFIG_PATH")
            try? FileManager.default.removeItem(atPath: path)
        }
        var configuration = Configuration()
        configuration.localDevices = [.speakerphone: .init(playback: "horn")]
        let opener = ALSAPathOpener(configuration: configuration)
        let output = try opener.openOutput(.local(.speakerphone))
        // From now on nobody can open it.
        setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf", 1)
        #expect(opener.absence(of: .speakerphone) == nil)
        output.close()
        #expect(opener.absence(of: .speakerphone)?.what.contains("horn") == true)
    }
}
