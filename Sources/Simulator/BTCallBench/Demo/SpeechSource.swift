import Foundation

/// Speech for the demonstration, from a synthesiser, with quiet room noise so that there is always a signal.
package enum SpeechSource {
    package static let rate = 16000

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// - Parameters:
    ///   - voice: a voice of espeak-ng, such as `en-gb`.
    ///   - pitch: 0…99.
    ///   - seconds: the text is repeated up to this length.
    ///   - seed: seed of the room noise: different for each person.
    package static func speech(
        _ text: String, voice: String, pitch: Int, seconds: Double, seed: UInt64
    ) throws(Failure) -> [Int16] {
        let spoken = try synthesise(text, voice: voice, pitch: pitch)
        let count = Int(seconds * Double(rate))
        var noise = NoiseGenerator(seed: seed)
        return (0..<count).map { index in
            let sample = Double(spoken[index % spoken.count]) * 0.6 + noise.next() * 350
            return Int16(max(-32000, min(32000, sample)))
        }
    }

    /// At 16 kHz, at the synthesiser's own level.
    static func synthesise(_ text: String, voice: String, pitch: Int) throws(Failure) -> [Int16] {
        let file = FileManager.default.temporaryDirectory.appending(path: "btcall-speech-\(UUID().uuidString).wav")
        defer { try? FileManager.default.removeItem(at: file) }  // A file in the temporary directory may stay.
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["espeak-ng", "-v", voice, "-p", "\(pitch)", "-s", "165", "-w", file.path, text]
        let contents: Data
        do {
            try process.run()
            process.waitUntilExit()
            contents = try Data(contentsOf: file)
        } catch {
            throw Failure(description: "espeak-ng gives no speech (\(error)): install it (`apt-get install espeak-ng`)")
        }
        guard process.terminationStatus == 0, contents.count > 44 else {
            throw Failure(description: "espeak-ng gives no speech: install it (`apt-get install espeak-ng`)")
        }
        return resample([UInt8](contents))
    }

    /// espeak-ng writes mono 16-bit audio after a header of 44 bytes that contains the rate.
    private static func resample(_ wave: [UInt8]) -> [Int16] {
        let from = Int(wave[24]) + Int(wave[25]) * 256
        let samples = stride(from: 44, to: wave.count - 1, by: 2).map {
            Int16(bitPattern: UInt16(wave[$0]) | UInt16(wave[$0 + 1]) << 8)
        }
        return OfflineResampler.convert(samples, from: from, to: rate)
    }
}

/// White noise in -1…1, the same for the same seed (splitmix64).
package struct NoiseGenerator: Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> Double {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return Double(Int64(bitPattern: value ^ value >> 31)) / Double(Int64.max)
    }
}
