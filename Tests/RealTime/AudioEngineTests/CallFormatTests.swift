import AudioDSP
import CBTCall
import Foundation
import Testing

@testable import AudioEngine

/// One call's port without its thread: the application is at the other end of the socket.
private final class PortBench {
    static let busRate = 16_000
    let rate: Int
    let isFloat: Bool
    let channels: Int
    private let theirs: Int32
    private let port: CallPointer
    private let counters: UnsafeMutablePointer<CallCounters>

    init(rate: Int, isFloat: Bool, channels: Int) {
        self.rate = rate
        self.isFloat = isFloat
        self.channels = channels
        let ends = packetSocketPair()
        theirs = ends.theirs
        counters = .allocate(capacity: 1)
        counters.initialize(to: CallCounters())
        port = .allocate(capacity: 1)
        port.initialize(
            to: CallPort(
                id: 1, descriptor: ends.ours, rate: rate,
                layout: SampleLayout(isFloat ? .f32 : .s16, channels: channels), bus: BusRates(Self.busRate),
                counters: counters))
    }

    deinit {
        close(port.pointee.descriptor)
        close(theirs)
        port.deinitialize(count: 1).deallocate()
        counters.deinitialize(count: 1).deallocate()
    }

    var isCounted: EngineCounters.Call { counters.pointee.snapshot(id: 1) }

    func prime(_ blocks: Int) { _ = port.pointee.prime(blocks: blocks, now: 0) }

    /// The application sends a block, as interleaved samples of full scale 1.
    func say(_ samples: [Double]) -> Int {
        if isFloat {
            let block = samples.map { Float($0) }
            _ = send(theirs, block, block.count * 4, 0)
        } else {
            let block = samples.map { Int16(($0 * 32_768).rounded()) }
            _ = send(theirs, block, block.count * 2, 0)
        }
        return port.pointee.receive(now: 0)
    }

    /// The device's audio.
    func play() -> [Int16]? {
        var output = [Int16](repeating: 0, count: Self.busRate / 100)
        return port.pointee.takeBlock(&output, output.count) ? output : nil
    }

    /// A block of the microphone, as received by the application: interleaved, full scale 1; nil without one.
    func hear(_ microphone: [Int16]?) -> [Double]? {
        if let microphone { _ = port.pointee.sendBlock(microphone, microphone.count) }
        if isFloat {
            var block = [Float](repeating: 0, count: 2 * rate / 100 + 8)
            let bytes = recv(theirs, &block, block.count * 4, Int32(MSG_DONTWAIT))
            return bytes < 0 ? nil : block[..<(bytes / 4)].map(Double.init)
        }
        var block = [Int16](repeating: 0, count: 2 * rate / 100 + 8)
        let bytes = recv(theirs, &block, block.count * 2, Int32(MSG_DONTWAIT))
        return bytes < 0 ? nil : block[..<(bytes / 2)].map { Double($0) / 32_768 }
    }
}

/// Amplitude of a tone of that frequency in `samples`, and decibels by which it exceeds the rest.
private func measure(_ samples: [Double], hertz: Double, rate: Int) -> (amplitude: Double, decibels: Double) {
    // Whole periods: sine and cosine are independent then.
    var (real, imaginary, energy) = (0.0, 0.0, 0.0)
    for (index, sample) in samples.enumerated() {
        let angle = 2 * .pi * hertz * Double(index) / Double(rate)
        real += sample * sin(angle)
        imaginary += sample * cos(angle)
        energy += sample * sample
    }
    let tone = 2 * (real * real + imaginary * imaginary) / Double(samples.count)
    let amplitude = 2 * (real * real + imaginary * imaginary).squareRoot() / Double(samples.count)
    return (amplitude, 10 * log10(tone / max(energy - tone, 1e-30)))
}

private let callFormats = AudioEngine.rates.flatMap { rate in
    [false, true].flatMap { isFloat in [1, 2].map { (rate, isFloat, $0) } }
}

struct CallFormatTests {
    @Test(arguments: callFormats)
    func `S1.23 every rate, sample format and number of channels of a call passes in both directions`(
        rate: Int, isFloat: Bool, channels: Int
    ) throws {
        let bench = PortBench(rate: rate, isFloat: isFloat, channels: channels)
        bench.prime(1)
        #expect(bench.hear(nil)?.count == rate / 100 * channels)
        let hertz = 1_000.0
        var played: [Double] = []
        var heard: [[Double]] = Array(repeating: [], count: channels)
        let frames = rate / 100
        for block in 0..<60 {
            // The second channel is weaker: the mean of both is 0.25.
            var samples: [Double] = []
            for index in 0..<frames {
                let tone = sin(2 * .pi * hertz * Double(block * frames + index) / Double(rate))
                samples += channels == 1 ? [0.25 * tone] : [0.375 * tone, 0.125 * tone]
            }
            #expect(bench.say(samples) > 0)
            played += try #require(bench.play()).map { Double($0) / 32_768 }
            let microphone = (0..<160).map { index in
                Int16((8_192 * sin(2 * .pi * hertz * Double(block * 160 + index) / 16_000)).rounded())
            }
            let answer = try #require(bench.hear(microphone))
            #expect(answer.count == frames * channels)
            for (index, sample) in answer.enumerated() { heard[index % channels].append(sample) }
        }
        let toDevice = measure(Array(played.suffix(8_000)), hertz: hertz, rate: 16_000)
        #expect(toDevice.decibels > 75 && abs(20 * log10(toDevice.amplitude / 0.25)) < 0.1, "\(toDevice)")
        for channel in heard {
            let toCall = measure(Array(channel.suffix(rate / 2)), hertz: hertz, rate: rate)
            #expect(toCall.decibels > 75 && abs(20 * log10(toCall.amplitude / 0.25)) < 0.1, "\(toCall)")
        }
        #expect(heard.allSatisfy { $0 == heard[0] })
        #expect(bench.isCounted.blocksReceived == 60 && bench.isCounted.blocksBad == 0)
    }

    @Test func `S1.23 the matrix detects a format mistaken for another one`() throws {
        // Floats read as 16 bit: the measure has to fall, or it proves nothing.
        let bench = PortBench(rate: 16_000, isFloat: false, channels: 2)
        bench.prime(1)
        var played: [Double] = []
        for block in 0..<60 {
            let floats = (0..<160).map { Float(0.25 * sin(2 * .pi * Double(block * 160 + $0) / 16)) }
            let words = floats.flatMap { value in
                [UInt16(truncatingIfNeeded: value.bitPattern), UInt16(truncatingIfNeeded: value.bitPattern >> 16)]
            }
            #expect(bench.say(words.map { Double(Int16(bitPattern: $0)) / 32_768 }) > 0)
            played += try #require(bench.play()).map { Double($0) / 32_768 }
        }
        #expect(measure(Array(played.suffix(8_000)), hertz: 1_000, rate: 16_000).decibels < 20)
    }

    @Test(arguments: callFormats)
    func `a block of another length is ignored and counted`(rate: Int, isFloat: Bool, channels: Int) {
        let bench = PortBench(rate: rate, isFloat: isFloat, channels: channels)
        bench.prime(1)
        let samples = rate / 100 * channels
        for count in [1, samples - channels, samples + 1, samples + channels, 2 * samples] {
            #expect(bench.say(Array(repeating: 0.5, count: count)) == 1)
        }
        #expect(bench.play() == nil)
        #expect(bench.isCounted.blocksBad == 5 && bench.isCounted.blocksReceived == 0)
    }

    @Test func `a call may not have three channels`() throws {
        let bench = try EngineBench()
        let ends = packetSocketPair()
        #expect(throws: AudioEngineError.unsupportedFormat(rate: 16_000, channels: 3)) {
            try bench.engine.attachCall(
                1, descriptor: ends.ours, rate: 16_000, layout: SampleLayout(.f32, channels: 3), active: true)
        }
        close(ends.theirs)
        bench.engine.stop()
    }
}
