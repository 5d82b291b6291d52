import AudioDSP
import Glibc
import Testing

/// Lower rates that are used with their double.
private let rates = [8_000, 16_000]

/// The whole of `input` in pieces of these lengths, repeated.
private func convert(
    _ input: [Int16], _ resampler: inout Resampler, pieces: [Int], isDoubled: (Int) -> Bool = { _ in false }
) -> [Int16] {
    var output: [Int16] = []
    var used = 0
    var number = 0
    while used < input.count {
        let frames = min(pieces[number % pieces.count], input.count - used)
        var piece = [Int16](repeating: 0, count: 2 * frames + 2)
        let result = resampler.process(
            Array(input[used..<used + frames]), frames, &piece, piece.count, isDoubled: isDoubled(number))
        #expect(result.used == frames)
        output += piece[..<result.made]
        used += frames
        number += 1
    }
    return output
}

/// Full scale included, without any pattern.
private func noise(_ frames: Int) -> [Int16] {
    var state: UInt32 = 7
    return (0..<frames).map { _ in
        state = state &* 1_664_525 &+ 1_013_904_223
        return Int16(truncatingIfNeeded: Int32(bitPattern: state) >> 16)
    }
}

struct HalfBandTests {
    @Test(arguments: rates)
    func `doubling keeps every frame and is late by what it states`(rate: Int) {
        var up = Resampler(from: rate, to: 2 * rate)
        let (doubles, isIdentity, delay) = (up.doubles, up.isIdentity, up.delayFrames)
        #expect(doubles && !isIdentity)
        let input = noise(1_000)
        let output = convert(input, &up, pieces: [80, 30, 1, 160])
        #expect(output.count == 2_000)
        let even = stride(from: delay, to: output.count, by: 2).map { output[$0] }
        #expect(even == Array(input.prefix(even.count)))
        #expect(output.prefix(delay).enumerated().allSatisfy { $0.offset % 2 == 1 || $0.element == 0 })
    }

    @Test(arguments: [[160], [2, 320, 60], [1_000]])
    func `halving doubled audio gives back the same samples`(pieces: [Int]) {
        var up = Resampler(from: 8_000, to: 16_000)
        var down = Resampler(from: 16_000, to: 8_000)
        let doubles = down.doubles
        #expect(!doubles)
        let input = noise(2_000)
        let delay = up.delayFrames / 2 + down.delayFrames
        let output = convert(convert(input, &up, pieces: [80]), &down, pieces: pieces) { _ in true }
        #expect(output.prefix(delay).allSatisfy { $0 == 0 })
        #expect(Array(output.dropFirst(delay)) == Array(input.prefix(output.count - delay)))
    }

    @Test func `copying and filtering alternate without a seam`() {
        var up = Resampler(from: 8_000, to: 16_000)
        var copying = Resampler(from: 16_000, to: 8_000)
        var alternating = Resampler(from: 16_000, to: 8_000)
        let input = zip(
            Signals.tone(440, rate: 8_000, frames: 8_000), Signals.tone(3_100, rate: 8_000, frames: 8_000)
        ).map { $0 + $1 }
        let doubled = convert(input, &up, pieces: [80])
        let copied = convert(doubled, &copying, pieces: [160]) { _ in true }
        let mixed = convert(doubled, &alternating, pieces: [160]) { $0 % 3 == 0 }
        #expect(copied.count == 8_000 && mixed.count == 8_000)
        // Until then the tones have not begun for the whole filter.
        let differences = zip(copied, mixed).dropFirst(100).map { abs(Int($0) - Int($1)) }
        #expect((differences.max() ?? 0) <= 5)
    }

    @Test func `frames that are not whole pairs wait, and are filtered as in one piece`() {
        var whole = Resampler(from: 16_000, to: 8_000)
        var pieces = Resampler(from: 16_000, to: 8_000)
        let input = noise(1_001)
        let expected = convert(input, &whole, pieces: [1_001])
        #expect(expected.count == 500)
        // Not copied either, because its pairs begin elsewhere.
        #expect(convert(input, &pieces, pieces: [3, 160, 1, 7]) { $0 == 1 } == expected)
    }

    @Test func `little room makes it consume little`() {
        var up = Resampler(from: 8_000, to: 16_000)
        var down = Resampler(from: 16_000, to: 8_000)
        var output = [Int16](repeating: 0, count: 8)
        let input = noise(10)
        let doubled = [7, 1].map { up.process(input, 10, &output, $0) }
        #expect(doubled.map(\.used) == [3, 0] && doubled.map(\.made) == [6, 0])
        // The second time leaves one frame waiting.
        let halved = [10, 1, 10].map { down.process(input, $0, &output, 3) }
        #expect(halved.map(\.used) == [6, 1, 5] && halved.map(\.made) == [3, 0, 3])
    }

    @Test(arguments: rates)
    func `the lower band is flat and the upper one is silent`(rate: Int) {
        let scale = Double(rate) / 8_000
        for hertz in [100.0, 300, 1_000, 2_500, 3_400] {
            var up = Resampler(from: rate, to: 2 * rate)
            var down = Resampler(from: 2 * rate, to: rate)
            let input = Signals.tone(hertz * scale, rate: rate, frames: rate)
            let doubled = convert(input, &up, pieces: [rate / 100])
            let settled = doubled.dropFirst(rate / 10)
            #expect(Signals.purity(settled, hertz: hertz * scale, rate: 2 * rate) > 70, "\(hertz) Hz")
            let back = convert(doubled, &down, pieces: [rate / 50]).dropFirst(rate / 10)
            let loss = 20 * log10(Signals.rms(back) / Signals.rms(input))
            #expect(abs(loss) < 0.02, "\(hertz) Hz: \(loss) dB")
        }
        for hertz in [4_600.0, 5_000, 6_500, 7_900] {
            var down = Resampler(from: 2 * rate, to: rate)
            let input = Signals.tone(hertz * scale, rate: 2 * rate, frames: 2 * rate)
            let heard = convert(input, &down, pieces: [rate / 50]).dropFirst(rate / 10)
            #expect(20 * log10(Signals.rms(heard) / Signals.rms(input)) < -70, "\(hertz) Hz")
        }
    }

    @Test func `an offset stays an offset`() {
        var up = Resampler(from: 8_000, to: 16_000)
        let flat = convert([Int16](repeating: -1_234, count: 400), &up, pieces: [80])
        #expect(flat.dropFirst(100).allSatisfy { $0 == -1_234 })
    }

    @Test func `the loudest audio there can be is clipped`() {
        // Around the middle each frame has the sign of the filter's value there.
        let signs: [Int16] = (0..<200).map { $0 % 2 == ($0 < 100 ? 0 : 1) ? .max : .min }
        var up = Resampler(from: 8_000, to: 16_000)
        let doubled = convert(signs, &up, pieces: [80])
        let (upDelay, downDelay) = (up.delayFrames, Resampler(from: 16_000, to: 8_000).delayFrames)
        #expect(doubled[2 * 99 + upDelay + 1] == .min)
        var down = Resampler(from: 16_000, to: 8_000)
        let halved = convert(signs.flatMap { [Int16.min, $0] }, &down, pieces: [160])
        #expect(halved[100 + downDelay] == .min)
    }

    @Test func `after a reset nothing is left of the input`() {
        var down = Resampler(from: 16_000, to: 8_000)
        _ = convert(noise(161), &down, pieces: [161])
        down.reset()
        let silence = convert([Int16](repeating: 0, count: 200), &down, pieces: [200])
        #expect(silence.count == 100 && silence.allSatisfy { $0 == 0 })
    }
}
