import AudioDSP
import Glibc
import Testing

struct GainTests {
    @Test func `a change is a ramp of 20 milliseconds without a step`() {
        var gain = Gain(rate: 16_000)
        var samples = [Int16](repeating: 10_000, count: 640)
        gain.apply(&samples, 160)
        gain.set(0)
        samples.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            gain.apply(base + 160, 480)
        }
        #expect(samples[0..<160].allSatisfy { $0 == 10_000 })
        #expect(samples[479...].allSatisfy { $0 == 0 })
        #expect(Signals.largestStep(samples) <= 32)
        #expect(gain.isSettled && gain.isSilent)
    }

    @Test func `muting is digital zero and comes back to the same gain`() {
        var gain = Gain(rate: 8_000, gain: 0.5)
        gain.setMuted(true)
        var samples = [Int16](repeating: 8_000, count: 320)
        gain.apply(&samples, 320)
        #expect(samples[160...].allSatisfy { $0 == 0 })
        #expect(gain.isSilent)
        gain.set(0.25)
        gain.setMuted(false)
        samples = [Int16](repeating: 8_000, count: 320)
        gain.apply(&samples, 320)
        #expect(samples[160...].allSatisfy { $0 == 2_000 })
        #expect(!gain.isSilent)
    }

    @Test func `too loud samples are clipped and NaN is silence`() {
        var gain = Gain(rate: 8_000, gain: 4)
        var samples: [Int16] = [20_000, -20_000, 100]
        gain.apply(&samples, 3)
        #expect(samples == [32_767, -32_768, 400])
        gain.set(.nan)
        var more = [Int16](repeating: 100, count: 800)
        gain.apply(&more, 800)
        #expect(more[799] == 0)
    }
}

struct MixerTests {
    @Test func `a sum is clipped at full scale`() {
        var samples: [Int16] = [1, 30_000, -30_000, 32_767]
        Mixer.add([2, 30_000, -30_000, -32_768], 4, to: &samples)
        #expect(samples == [3, 32_767, -32_768, -1])
        Mixer.clear(&samples, 2)
        #expect(samples == [0, 0, -32_768, -1])
        Mixer.copy([5, 6], 2, to: &samples)
        #expect(samples == [5, 6, -32_768, -1])
    }
}

struct CrossFadeTests {
    @Test func `between two copies of the same audio the fade is inaudible`() {
        let voice = Signals.voice(rate: 16_000, frames: 960)
        var fade = CrossFade(rate: 16_000)
        var output: [Int16] = []
        fade.start()
        for start in stride(from: 0, to: 960, by: 120) {
            var block = Array(voice[start..<start + 120])
            let copy = block
            fade.blend(from: copy, to: copy, into: &block, 120)
            output += block
        }
        #expect(output == voice)
        #expect(!fade.isRunning)
    }

    @Test func `it takes 20 milliseconds and has no step in the level`() {
        var fade = CrossFade(rate: 16_000)
        #expect(!fade.isRunning)
        fade.start()
        #expect(fade.framesLeft == 320)
        let (old, new) = ([Int16](repeating: 10_000, count: 480), [Int16](repeating: -10_000, count: 480))
        var output = [Int16](repeating: 0, count: 480)
        fade.blend(from: old, to: new, into: &output, 480)
        #expect(output[0] == 10_000)
        #expect(output[319...].allSatisfy { $0 <= -9_900 })
        #expect(Signals.largestStep([10_000] + output) <= 63)
        #expect(zip(output, output.dropFirst()).allSatisfy { $0 >= $1 })
    }

    @Test func `fading out and in separately adds up to the same`() {
        var fade = CrossFade(rate: 8_000)
        fade.start()
        let voice = Signals.voice(rate: 8_000, frames: 240)
        for start in stride(from: 0, to: 240, by: 60) {
            let clean = Array(voice[start..<start + 60])
            var (old, new) = (clean, clean)
            fade.fadeOut(&old, 60)
            fade.fadeIn(&new, 60)
            fade.advance(60)
            Mixer.add(old, 60, to: &new)
            #expect(zip(new, clean).allSatisfy { abs(Int($0) - Int($1)) <= 1 })
        }
        #expect(!fade.isRunning)
        var rest: [Int16] = [5, 5]
        fade.fadeIn(&rest, 2)
        #expect(rest == [5, 5])
        fade.fadeOut(&rest, 2)
        #expect(rest == [0, 0])
    }
}

struct ComfortNoiseTests {
    @Test(arguments: [8_000, 16_000, 48_000])
    func `its level is the one asked for`(rate: Int) {
        for level in [Float(-70), -60, -40] {
            var noise = ComfortNoise(rate: rate, levelDecibels: level)
            var samples = [Int16](repeating: 0, count: rate * 2)
            noise.fill(&samples, samples.count)
            let measured = 20 * log10(Signals.rms(samples) / 32_768)
            #expect(abs(measured - Double(level)) < 0.5)
            let mean = samples.reduce(0) { $0 + Int($1) } / samples.count
            #expect(abs(mean) <= 3)
        }
    }

    /// By that the doctor of `btcall` tells it from a microphone.
    @Test(arguments: [8_000, 16_000, 32_000, 48_000])
    func `before a room is known it stays below -50 dB`(rate: Int) {
        var noise = ComfortNoise(rate: rate)
        var samples = [Int16](repeating: 0, count: rate * 10)
        noise.fill(&samples, samples.count)
        #expect(samples.allSatisfy { abs(Int($0)) <= 103 })
    }

    @Test func `the same seed gives the same noise and another seed a different one`() {
        var first = [Int16](repeating: 0, count: 200)
        var second = first
        var third = first
        var (one, two) = (ComfortNoise(rate: 8_000, seed: 5), ComfortNoise(rate: 8_000, seed: 5))
        var other = ComfortNoise(rate: 8_000, seed: 0)
        one.fill(&first, 200)
        two.add(&second, 200)
        other.fill(&third, 200)
        #expect(first == second)
        #expect(first != third)
    }
}
