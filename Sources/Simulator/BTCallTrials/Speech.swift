import Glibc

/// Nonsense speech: glottal pulses and noise through moving resonances (after Klatt's cascade synthesiser).
///
/// Voiced syllables with gliding pitch and formants, nasals, fricatives, stops with their bursts, and pauses; pitch and
/// loudness waver slightly from pulse to pulse, as in nature. Not intelligible, but as predictable as speech.
package struct Speech {
    /// Parameters of a voice.
    package struct Voice: Sendable {
        package var name: String
        /// Pitch in Hz, in the middle of a phrase.
        package var pitch: Double
        /// Relative to a man's vocal tract.
        package var formantScale: Double
        /// Syllables per second.
        package var pace: Double
        /// Share of breath in the voice.
        package var breath: Double
    }

    /// The concealment was not tuned on any of them alone: see `heldOut`.
    package static let voices = [
        Voice(name: "low", pitch: 95, formantScale: 0.96, pace: 4, breath: 0.02),
        Voice(name: "man", pitch: 125, formantScale: 1, pace: 4.5, breath: 0.03),
        Voice(name: "woman", pitch: 205, formantScale: 1.16, pace: 4.5, breath: 0.05),
        Voice(name: "child", pitch: 270, formantScale: 1.3, pace: 3.5, breath: 0.06),
    ]

    /// No constant of the concealment was fitted to these voices; variants of it were compared on them.
    package static let heldOut = [
        Voice(name: "slow man", pitch: 108, formantScale: 1.03, pace: 3.2, breath: 0.04),
        Voice(name: "fast man", pitch: 140, formantScale: 0.98, pace: 5.5, breath: 0.02),
        Voice(name: "alto", pitch: 180, formantScale: 1.12, pace: 4.2, breath: 0.05),
        Voice(name: "soprano", pitch: 235, formantScale: 1.2, pace: 5, breath: 0.07),
    ]

    private let voice: Voice
    private let rate: Int
    private var random: SeededRandom
    private var output: [Double] = []

    // Present state of the sound.
    private var tract = [Resonance](repeating: Resonance(), count: 5)
    private var hiss = Resonance()
    private var hissLevel = 0.0
    private var phase = 0.0
    private var wobble = 1.0
    private var shimmer = 1.0
    private var lastFlow = 0.0
    private var sound = Sound.silence
    private var phraseTime = 0.0
    private var accent = 0.0
    private var lastAccent = 0.0

    /// Speech by one voice, or several in succession, at the level of calls (about -22 dB of full scale).
    ///
    /// - Parameters:
    ///   - rate: sample rate in Hz.
    ///   - seconds: length for each voice.
    package static func samples(
        _ voices: [Voice] = Speech.voices, rate: Int, seconds: Double, seed: UInt64 = 1
    ) -> [Int16] {
        var all: [Int16] = []
        for (number, voice) in voices.enumerated() {
            var speech = Speech(voice, rate: rate, seed: seed &+ UInt64(number) &* 1_000)
            let wanted = Int(Double(rate) * seconds)
            while speech.output.count < wanted { speech.speakPhrase() }
            let made = speech.output.prefix(wanted)
            let level = (made.reduce(0) { $0 + $1 * $1 } / Double(wanted)).squareRoot()
            all += made.map { Int16(max(-32_768, min(32_767, ($0 / level * 2_600).rounded()))) }
        }
        return all
    }

    private init(_ voice: Voice, rate: Int, seed: UInt64) {
        self.voice = voice
        self.rate = rate
        random = SeededRandom(seed)
    }

    /// Targets of one sound.
    private struct Sound {
        var formants: [Double]
        var bandwidths: [Double] = [70, 90, 120, 200, 250]
        var voicing = 0.0
        var friction = 0.0
        var frictionHertz = 4_000.0

        static let silence = Sound(formants: [500, 1_500, 2_500, 3_500, 4_500])

        func mixed(with other: Sound, share: Double) -> Sound {
            func mix(_ from: Double, _ to: Double) -> Double { from + (to - from) * share }
            return Sound(
                formants: zip(formants, other.formants).map(mix),
                bandwidths: zip(bandwidths, other.bandwidths).map(mix), voicing: mix(voicing, other.voicing),
                friction: mix(friction, other.friction), frictionHertz: mix(frictionHertz, other.frictionHertz))
        }
    }

    private static let vowels: [[Double]] = [
        [310, 2_020, 2_960], [400, 1_800, 2_570], [530, 1_680, 2_500], [660, 1_720, 2_410], [730, 1_090, 2_440],
        [570, 840, 2_410], [440, 1_020, 2_240], [300, 870, 2_240], [620, 1_220, 2_550],
    ]

    private mutating func speakPhrase() {
        phraseTime = 0
        let syllables = Int.random(in: 4...10, using: &random)
        for number in 0..<syllables {
            accent = Double.random(in: -0.12...0.16, using: &random)
            speakConsonant()
            let length = Double.random(in: 0.5...0.95, using: &random) / voice.pace
            var vowel = Self.vowel(Self.vowels.randomElement(using: &random) ?? [500, 1_500, 2_500])
            vowel.voicing = Double.random(in: 0.7...1, using: &random)
            glide(to: vowel, seconds: min(0.06, length * 0.4))
            // A diphthong, now and then.
            if Int.random(in: 0..<3, using: &random) == 0 {
                var second = Self.vowel(Self.vowels.randomElement(using: &random) ?? [500, 1_500, 2_500])
                second.voicing = vowel.voicing * 0.8
                glide(to: second, seconds: length * 0.6)
            } else {
                var end = vowel
                end.voicing *= number == syllables - 1 ? 0.5 : 0.85
                glide(to: end, seconds: length * 0.6)
            }
        }
        glide(to: Sound.silence, seconds: 0.05)
        glide(to: Sound.silence, seconds: Double.random(in: 0.15...0.45, using: &random))
    }

    /// A vowel is about 15 dB louder than a fricative.
    private static let frictionLevel = 0.09

    private static func vowel(_ formants: [Double]) -> Sound {
        Sound(formants: formants + [3_500, 4_500])
    }

    private mutating func speakConsonant() {
        var next = sound
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1:
            // A nasal or liquid: low, damped.
            next = Self.vowel([280, Double.random(in: 1_000...1_700, using: &random), 2_300])
            next.bandwidths = [90, 250, 300, 300, 300]
            next.voicing = 0.4
            glide(to: next, seconds: 0.03)
            glide(to: next, seconds: 0.05)
        case 2, 3:
            // A fricative without voice.
            next.voicing = 0
            next.friction = Double.random(in: 0.05...0.2, using: &random)
            next.frictionHertz = [1_900, 2_700, 4_200, 5_800].randomElement(using: &random) ?? 4_000
            glide(to: next, seconds: 0.02)
            glide(to: next, seconds: Double.random(in: 0.05...0.1, using: &random))
        case 4:
            // A voiced fricative.
            next.voicing = 0.35
            next.friction = 0.06
            next.frictionHertz = 3_800
            glide(to: next, seconds: 0.02)
            glide(to: next, seconds: 0.05)
        case 5, 6, 7:
            // A stop: closed, burst, breath.
            next.voicing = 0
            next.friction = 0
            glide(to: next, seconds: 0.012)
            glide(to: next, seconds: Double.random(in: 0.03...0.07, using: &random))
            next.friction = 0.4
            next.frictionHertz = [900, 1_800, 3_600].randomElement(using: &random) ?? 1_800
            glide(to: next, seconds: 0.003)
            next.friction = 0.08
            glide(to: next, seconds: 0.015)
            next.friction = 0
        default:
            break
        }
    }

    private mutating func glide(to target: Sound, seconds: Double) {
        let first = sound
        let frames = max(1, Int(seconds * Double(rate)))
        let update = max(1, rate / 1_000)
        for index in 0..<frames {
            if index % update == 0 {
                // Half a cosine: a tongue has a mass.
                let share = (1 - cos(.pi * Double(index + update) / Double(frames + update))) / 2
                sound = first.mixed(with: target, share: min(1, share))
                tune()
            }
            output.append(nextSample())
        }
        sound = target
    }

    private mutating func tune() {
        for index in tract.indices {
            tract[index].set(
                hertz: sound.formants[index] * voice.formantScale, bandwidth: sound.bandwidths[index], rate: rate)
        }
        // Frequencies near the limit of the rate are mostly inaudible.
        let highest = Double(rate) * 0.42
        hissLevel = Self.frictionLevel * (sound.frictionHertz > highest ? 0.3 : 1)
        hiss.set(hertz: min(sound.frictionHertz, highest), bandwidth: 900, rate: rate)
    }

    private mutating func nextSample() -> Double {
        let step = 1 / Double(rate)
        phraseTime += step
        let melody = 1 + lastAccent - 0.07 * phraseTime.squareRoot()
        let pitch = voice.pitch * melody * (1 + 0.02 * sin(2 * .pi * 2.3 * phraseTime)) * wobble
        // The larynx follows within 50 ms.
        lastAccent += (accent - lastAccent) / (0.05 * Double(rate))
        phase += pitch * step
        if phase >= 1 {
            phase -= 1
            wobble = 1 + Double.random(in: -0.006...0.006, using: &random)
            shimmer = 1 + Double.random(in: -0.04...0.04, using: &random)
        }
        // Rosenberg's pulse: it opens for 40 % of the period, closes in 16 %.
        let flow: Double
        if phase < 0.4 {
            flow = 0.5 * (1 - cos(.pi * phase / 0.4))
        } else if phase < 0.56 {
            flow = cos(.pi * (phase - 0.4) / 0.32)
        } else {
            flow = 0
        }
        let pulse = (flow - lastFlow) * Double(rate) / 16_000
        lastFlow = flow
        let noise = Double.random(in: -1...1, using: &random)
        // Breath occurs while the glottis is open.
        var value = sound.voicing * (pulse * shimmer + voice.breath * 0.3 * noise * (0.3 + flow))
        for index in tract.indices { value = tract[index].filter(value) }
        return value + sound.friction * hissLevel * hiss.filter(noise)
    }
}

/// A resonance of two poles with unity gain at zero frequency; has no effect above the limit of the rate.
private struct Resonance {
    private var (a, b, c) = (1.0, 0.0, 0.0)
    private var (first, second) = (0.0, 0.0)

    mutating func set(hertz: Double, bandwidth: Double, rate: Int) {
        if hertz > Double(rate) * 0.46 {
            (a, b, c) = (1, 0, 0)
            return
        }
        let radius = exp(-.pi * bandwidth / Double(rate))
        c = -radius * radius
        b = 2 * radius * cos(2 * .pi * hertz / Double(rate))
        a = 1 - b - c
    }

    mutating func filter(_ value: Double) -> Double {
        let result = a * value + b * first + c * second
        second = first
        first = result
        return result
    }
}
