import CALSA
import ControlLoop
import Foundation
import Testing

@testable import ALSA

struct PCMHandleTests {
    init() { ALSAEnvironment.prepare() }

    @Test func `a device is opened with the wanted rate, 16 bit, periods of 10 ms and a buffer for a stall`() throws {
        let handle = try PCMHandle("null", .playback)
        #expect(handle.rate == 48_000)
        #expect(handle.channels == 1)
        #expect(handle.format == .s16)
        #expect(handle.periodFrames == 480)
        #expect(handle.bufferFrames >= 48 * 80)
        #expect(try PCMHandle("null", .capture).bufferFrames >= 48 * 400)
        #expect(snd_pcm_state(handle.pcm) == SND_PCM_STATE_PREPARED)
        handle.close()
        handle.close()
    }

    @Test(arguments: [8_000, 16_000, 24_000, 32_000, 44_100, 48_000])
    func `the nearest rate is used`(rate: Int) throws {
        let handle = try PCMHandle("null", .capture, PCMConfiguration(rate: rate, channels: 2))
        #expect(handle.rate == rate)
        #expect(handle.channels == 2)
        #expect(handle.periodFrames == rate / 100)
    }

    @Test func `a device without 16 bit uses another format, and one without a known format is refused`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).conf").path
        try """
        pcm.floatOnly { type lfloat slave { pcm null format S16_LE } }
        pcm.lawOnly { type mulaw slave { pcm null format S16_LE } }
        """.write(toFile: path, atomically: true, encoding: .utf8)
        setenv("ALSA_CONFIG_PATH", "/usr/share/alsa/alsa.conf:\(path)", 1)
        defer {
            unsetenv("ALSA_CONFIG_PATH")
            try? FileManager.default.removeItem(atPath: path)
        }
        for direction in [PCMHandle.Direction.playback, .capture] {
            let handle = try PCMHandle("floatOnly", direction)
            #expect(handle.format == .f32 && handle.rate == 48_000 && handle.channels == 1)
            handle.close()
        }
        #expect(
            throws: ALSAError.unsupported(
                device: "lawOnly", what: "has none of the formats S16, S32, S24, S24_3LE, FLOAT; put plug: in front")
        ) {
            try PCMHandle("lawOnly", .playback)
        }
    }

    @Test func `nothing is played before it is started by hand`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("btcall-\(UUID()).raw").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let handle = try PCMHandle("file:FILE=\(path),FORMAT=raw", .playback)
        let block = [Int16](repeating: 1_234, count: 480)
        #expect(snd_pcm_writei(handle.pcm, block, 480) == 480)
        #expect(snd_pcm_state(handle.pcm) == SND_PCM_STATE_PREPARED)
        handle.close()
    }

    @Test func `the error of a missing device names it, with a remedy`() {
        do throws(ALSAError) {
            _ = try PCMHandle("hw:NoSuchCard,0", .playback)
            Issue.record("opened")
        } catch {
            guard case .missing(let device, let advice) = error else {
                Issue.record("\(error)")
                return
            }
            #expect(device == "hw:NoSuchCard,0")
            #expect(advice.contains("aplay -l"))
            #expect(error.description.hasPrefix("hw:NoSuchCard,0: no such device"))
        }
    }

    @Test func `errors are sorted by their remedy`() {
        #expect(
            ALSAError(device: "hw:0", call: "snd_pcm_open", result: -EBUSY)
                == .busy(
                    device: "hw:0",
                    advice: "see `fuser -v /dev/snd/*` for who has it, or share it through dmix and dsnoop"))
        #expect(ALSAError(device: "hw:0", call: "x", result: -EACCES).description.contains("group audio"))
        #expect(ALSAError(device: "hw:0", call: "x", result: -EIO).description == "hw:0: x: Input/output error (5)")
    }

    @Test @ControlPlane func `a card that does not exist is reported by its mixer and its controls`() {
        let missing = ALSAError.missing(
            device: "hw:NoSuchCard", advice: "see `aplay -l` for the cards and `aplay -L` for the names there are")
        #expect(throws: missing) { try MixerElement(card: "hw:NoSuchCard", element: "Master") }
        #expect(throws: missing) { try CardControl(card: "hw:NoSuchCard") }
    }

    @Test(arguments: [
        ("hw:0,0", "hw:0"), ("hw:PCH", "hw:PCH"), ("plughw:CARD=Headset,DEV=0", "hw:Headset"),
        ("plug:hw:1,0", "hw:1"), ("plug:'hw:1,0'", "hw:1"), ("sysdefault:CARD=2", "hw:2"), ("surround51:3,0", "hw:3"),
    ])
    func `the card of a PCM is read from its name if the name contains it`(name: String, card: String) {
        #expect(Card.control(ofPCM: name) == card)
    }

    @Test func `a PCM without a card has none`() {
        #expect(Card.control(ofPCM: "null") == nil)
        #expect(Card.control(ofPCM: "hw:") == nil)
        #expect(Card.control(ofPCM: "noSuchPCM") == nil)
        #expect(Card.control(ofPCM: "file:FILE=/dev/null,FORMAT=raw") == nil)
    }

    @Test func `the list of cards can be empty`() {
        #expect(Card.all().allSatisfy { !$0.identifier.isEmpty })
    }
}
