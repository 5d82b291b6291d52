import BTCallTrials

/// What the people of a sandbox say: made here, without a synthesiser; not intelligible, and clearly speech.
enum SandboxVoices {
    static let rate = 16000
    private static let seconds = 8.0

    /// The person at one device, at a rate; each device has a voice of its own.
    static func person(_ number: Int, rate: Int) -> [Int16] {
        let voices = Speech.voices
        return Speech.samples(
            [voices[number % voices.count]], rate: rate, seconds: seconds, seed: UInt64(number + 1))
    }

    static func farEnd() -> [Int16] {
        Speech.samples([Speech.heldOut[2]], rate: rate, seconds: seconds, seed: 77)
    }
}
