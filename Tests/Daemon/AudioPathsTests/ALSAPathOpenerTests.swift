import AudioEngine
import AudioPaths
import Configuration
import ControlLoop
import Routing
import Testing

@Suite @ControlPlane struct ALSAPathOpenerTests {
    @Test func `headphones without microphone are used with the board's`() throws {
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
        // A card that does not record is used with the board's whatever the socket says.
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: nil)
        let path = try ALSAPathOpener(configuration: configuration).openPath(.wiredHeadset)
        #expect(path.summary.contains("plug:null"))
        path.close()
        configuration.localDevices[.wiredHeadset] = .init(playback: "null", capture: "null")
        // Without another microphone there is nothing to change.
        configuration.localDevices[.speakerphone] = nil
        #expect(!ALSAPathOpener(configuration: configuration).setWiredMicrophone(false))
    }

    @Test func `headphones are there when the microphone is that they are used with`() {
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

    @Test func `a ring device of its own that cannot be opened is corrected in its own key`() throws {
        let paths = ALSAPathOpener(configuration: Configuration())
        // The one is not there, the other is no name of a device.
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
}
