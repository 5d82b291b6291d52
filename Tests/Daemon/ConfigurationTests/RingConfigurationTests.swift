import AudioDSP
import Configuration
import Routing
import Testing

@Suite struct RingConfigurationTests {
    private func read(_ text: String) throws(ConfigurationError) -> Configuration {
        try Configuration(text: text, name: "test.conf")
    }

    private func refusal(_ text: String) -> String? {
        do throws(ConfigurationError) {
            _ = try read("[ring]\n\(text)")
            return nil
        } catch {
            return error.accepted
        }
    }

    @Test func `the loudspeaker rings by default`() throws {
        #expect(try read("[device speakerphone]\nplayback = null").ring == RingConfiguration())
        #expect(RingConfiguration().output == .local(.speakerphone))
        let ring = try read(
            """
            [ring]
            device = earpiece
            pageDevice = wiredHeadset
            file = /usr/share/ring.wav
            cadence = 400on 200off 400on 2000off
            volume = 0
            tones = uk
            ringback = no
            """
        ).ring
        #expect(ring.output == .local(.earpiece) && ring.pageOutput == .local(.wiredHeadset))
        #expect(ring.file == "/usr/share/ring.wav" && ring.cadence == [400, 200, 400, 2_000])
        #expect(ring.gain == 0 && ring.tones == .uk && ring.ringback == .no)
        #expect(try read("[ring]\nplayback = plug:horn").ring.output == .pcm("plug:horn"))
        let headset = try read("[ring]\ndevice = bluetooth\npageDevice = bluetooth:AA:BB:CC:DD:EE:0F").ring
        #expect(headset.output == .bluetooth(nil) && headset.pageOutput?.description == "bluetooth:AA:BB:CC:DD:EE:0F")
        let silent = try read("[ring]\ndevice = none\nplayback = plug:horn\ntones = none").ring
        #expect(silent.output == nil && silent.pageOutput == nil && silent.tones == nil)
    }

    @Test(arguments: [
        "device = bluetooth:1", "device = headset", "pageDevice = none", "file = ring.wav",
        "cadence = 1000", "cadence = 1000on",
        "cadence = 1000off 4000on", "cadence = 5on 5off", "cadence =", "cadence = 1000/4000", "volume = 101",
        "tones = de", "ringback = perhaps",
    ])
    func `an invalid value is refused with what is accepted`(line: String) {
        #expect(refusal(line)?.isEmpty == false)
    }

    @Test func `by default the loudspeaker rings, otherwise the earpiece, otherwise nothing`() throws {
        let devices = [LocalDevice.speakerphone, .earpiece, .wiredHeadset]
        func device(_ kinds: [LocalDevice], _ rest: String = "") throws -> LocalDevice? {
            try read(kinds.map { "[device \($0.rawValue)]\nplayback = null\n" }.joined() + rest).ring.device
        }
        #expect(try device(devices) == .speakerphone)
        #expect(try device([.earpiece, .wiredHeadset]) == .earpiece)
        #expect(try device([.wiredHeadset]) == nil && device([]) == nil)
        // A loudspeaker section with only a microphone does not ring.
        #expect(try device([.earpiece], "[device speakerphone]\ncapture = null\n") == .earpiece)
        #expect(try device([.earpiece], "[ring]\ndevice = speakerphone\n") == .speakerphone)
        #expect(try read("[ring]\nplayback = plug:horn").silentRingDevice == nil)
        #expect(try read("[ring]\ndevice = earpiece").silentRingDevice?.key == "device")
        #expect(try read("[ring]\npageDevice = earpiece").silentRingDevice?.key == "pageDevice")
    }

    @Test func `sharing sound cards and holding interrupted calls are configurable`() throws {
        #expect(try !read("").mixesWithOthers && read("").holdsInterrupted)
        let configuration = try read("[audio]\nmixWithOthers = yes\n[calls]\nholdInterrupted = no")
        #expect(configuration.mixesWithOthers && !configuration.holdsInterrupted)
    }

    @Test func `the tones of a plan have their frequencies and cadences`() {
        #expect(TonePlan.eu.tone(.ringback).frequencies == [425])
        #expect(TonePlan.eu.tone(.ringback).cadence == [1_000, 4_000])
        #expect(TonePlan.us.tone(.ringback).frequencies == [440, 480])
        #expect(TonePlan.us.tone(.ringback).cadence == [2_000, 4_000])
        #expect(TonePlan.us.tone(.busy).frequencies == [480, 620])
        #expect(TonePlan.uk.tone(.ringback).cadence == [400, 200, 400, 2_000])
        for plan in TonePlan.allCases {
            for signal in TonePlan.Signal.allCases {
                let tone = plan.tone(signal)
                #expect((1...2).contains(tone.frequencies.count) && tone.cadence.count % 2 == 0)
            }
        }
    }
}
