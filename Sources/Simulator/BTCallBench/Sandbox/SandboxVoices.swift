import BTCallTrials
import Foundation

/// Voices of the people in a sandbox, generated without a synthesiser; not intelligible, but clearly speech.
enum SandboxVoices {
    static let rate = 16000
    private static let seconds = 8.0
    /// Amplitude of a tone: -12 dB of full scale.
    private static let amplitude = 8192.0

    /// The person at one device, at a given rate; each device has its own voice.
    static func person(_ number: Int, rate: Int) -> [Int16] {
        let voices = Speech.voices
        return Speech.samples(
            [voices[number % voices.count]], rate: rate, seconds: seconds, seed: UInt64(number + 1))
    }

    static func farEnd() -> [Int16] {
        Speech.samples([Speech.heldOut[2]], rate: rate, seconds: seconds, seed: 77)
    }

    /// One second of a tone of whole Hz, which repeats without a step.
    static func tone(_ frequency: Int, rate: Int) -> [Int16] {
        let step = 2 * Double.pi * Double(frequency) / Double(rate)
        return (0..<rate).map { Int16(amplitude * sin(step * Double($0))) }
    }
}
