import AudioDSP
import Glibc
import Testing

/// From a call to a device: the audio path in between, without its queues.
private struct Way: CustomTestStringConvertible, Sendable {
    enum Device: Sendable {
        case link(LinkFormat)
        case card(rate: Int)
    }

    let callRate: Int
    let device: Device

    var testDescription: String { "\(callRate) Hz call, \(device)" }

    private static let busRate = 16_000

    var deviceRate: Int {
        switch device {
        case .link(let format): format.rate
        case .card(let rate): rate
        }
    }

    /// One second of `input`, at the call's rate, as output by the device.
    func play(_ input: [Int16], gain level: Float = 1) -> [Int16] {
        var toBus = Resampler(from: callRate, to: Self.busRate)
        var gain = Gain(rate: Self.busRate, gain: level)
        var bus = [Int16](repeating: 0, count: Self.busRate + 16)
        let made = toBus.process(input, input.count, &bus, bus.count).made
        gain.apply(&bus, made)
        var output = [Int16](repeating: 0, count: deviceRate + 64)
        switch device {
        case .link:
            var fromBus = Resampler(from: Self.busRate, to: deviceRate)
            return Array(output[..<fromBus.process(bus, made, &output, output.count).made])
        case .card:
            var fromBus = AdaptiveResampler(from: Self.busRate, to: deviceRate)
            return Array(output[..<fromBus.process(bus, made, &output, output.count).made])
        }
    }

    /// One second of `input`, at the device's rate, as received by the call.
    func capture(_ input: [Int16]) -> [Int16] {
        var toBus = Resampler(from: deviceRate, to: Self.busRate)
        var toCall = Resampler(from: Self.busRate, to: callRate)
        var bus = [Int16](repeating: 0, count: Self.busRate + 16)
        let made = toBus.process(input, input.count, &bus, bus.count).made
        var output = [Int16](repeating: 0, count: callRate + 16)
        return Array(output[..<toCall.process(bus, made, &output, output.count).made])
    }

    static let all = [8_000, 16_000, 24_000, 32_000, 44_100, 48_000].flatMap { rate in
        [Way(callRate: rate, device: .link(.cvsd)), Way(callRate: rate, device: .link(.mSBC))]
            + [8_000, 16_000, 24_000, 32_000, 44_100, 48_000].map { Way(callRate: rate, device: .card(rate: $0)) }
    }
}

struct VoiceBandTests {
    @Test(arguments: Way.all)
    fileprivate func `S3.4 from 200 to 3400 Hz every path between a call and a device is flat within 1 dB`(way: Way) {
        for hertz in [200.0, 300, 1_000, 2_000, 3_000, 3_300, 3_400] {
            let said = Signals.tone(hertz, rate: way.callRate, frames: way.callRate)
            let played = way.play(said)
            let down = 20 * log10(Signals.rms(played.dropFirst(way.deviceRate / 10)) / Signals.rms(said))
            #expect(abs(down) < 1, "\(hertz) Hz to the device: \(down) dB")
            let spoken = Signals.tone(hertz, rate: way.deviceRate, frames: way.deviceRate)
            let heard = way.capture(spoken)
            let up = 20 * log10(Signals.rms(heard.dropFirst(way.callRate / 10)) / Signals.rms(spoken))
            #expect(abs(up) < 1, "\(hertz) Hz to the call: \(up) dB")
        }
    }

    @Test(arguments: Way.all)
    fileprivate func `S3.4 a volume of 0 is digital silence`(way: Way) {
        let played = way.play(Signals.tone(1_000, rate: way.callRate, frames: way.callRate, amplitude: 32_000), gain: 0)
        #expect(played.count > way.deviceRate * 9 / 10 && played.allSatisfy { $0 == 0 })
    }
}
